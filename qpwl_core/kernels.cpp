// Pairwise W_p of quantile functions, its gradient, and the search for order statistics, in float32.
//
// The formulas are those of closed_form.py, written for vectors: a "tile" is LANES references side by side, so that
// one query's knot is compared with LANES references at once. Python splits the work over threads; nothing
// here allocates shared state. Built on the user's machine by kernels.py, with no header of PyTorch.

#include <cmath>
#include <cstdint>
#include <vector>

#if defined(__AVX512F__)
constexpr int LANES = 16;
#elif defined(__AVX__)
constexpr int LANES = 8;
#else
constexpr int LANES = 4;
#endif
constexpr int QUERIES = 32;  // queries that share a tile while it is in the first-level cache
constexpr int TERMS = 12;    // as in closed_form.py
typedef float F __attribute__((vector_size(4 * LANES)));
typedef int32_t I __attribute__((vector_size(4 * LANES)));
typedef double D __attribute__((vector_size(8 * LANES)));

static inline F all(float x) { return F{} + x; }
static inline F magnitude(F x) { return (F)((I)x & 0x7fffffff); }
static inline F larger(F x, F y) { return x > y ? x : y; }
static inline F smaller(F x, F y) { return x < y ? x : y; }
static inline F safe(F x) { return x == 0.0f ? all(1.0f) : x; }  // a divisor whose numerator is zero too
static inline float total(F x) { float sum = 0; for (int i = 0; i < LANES; i++) sum += x[i]; return sum; }

static inline F load(const float* x) { F v; __builtin_memcpy(&v, x, sizeof v); return v; }
static inline void store(float* x, F v) { __builtin_memcpy(x, &v, sizeof v); }

// log2 for x > 0 (a zero gives about -127) and 2^y: polynomials fitted at Chebyshev nodes, errors 5e-9 and 3e-9.
static inline F log2_of(F x) {
    I bits = (I)x - 0x3f3504f3;                            // so that the mantissa falls in [sqrt(1/2), sqrt(2))
    F exponent = __builtin_convertvector(bits >> 23, F);
    F f = (F)((bits & 0x7fffff) + 0x3f3504f3) - 1.0f;
    F s = all(-1.074978942e-01f);
    for (float c : {1.847603337e-01f, -1.913883766e-01f, 2.048576478e-01f, -2.396081219e-01f, 2.885525614e-01f,
                    -3.606965418e-01f, 4.808985203e-01f, -7.213473545e-01f, 1.442695040e+00f}) s = s * f + c;
    return s * f + exponent;
}

static inline F exp2_of(F y) {
    y = larger(y, all(-126.0f));                           // below that, 2^y is no normal number
    F n = (y + 12582912.0f) - 12582912.0f;                 // nearest integer
    F f = y - n;
    F s = all(1.546144470e-04f);
    for (float c : {1.340042818e-03f, 9.618056679e-03f, 5.550327227e-02f, 2.402265092e-01f, 6.931472067e-01f,
                    1.0f}) s = s * f + c;
    return s * (F)((__builtin_convertvector(n, I) + 127) << 23);
}

// x^p for x in [0, 1], beside a largest x of 1: what falls below 2^-60 is set to zero, before it turns denormal and slow.
static inline F power(F x, float p) {
    F y = log2_of(x) * p;
    return y > -60.0f ? exp2_of(y) : F{};
}

// A segment of a Wasserstein distance of order p: f, the mean of |linear|^p between the ends d0 and d1, and
// its derivatives. `scaled` says whether the differences must first be divided by the largest of them.

struct OrderOne {
    static constexpr bool scaled = false;
    static inline F mean(F d0, F d1) {
        F x0 = magnitude(d0), x1 = magnitude(d1), sum = x0 + x1;
        F crossing = smaller(x0, x1) * (larger(x0, x1) / (sum + 1e-37f));
        return 0.5f * sum - ((((I)d0 ^ (I)d1) < 0) ? crossing : F{});
    }
    static inline F gradient(F d0, F d1, F& g0, F& g1) {
        F x0 = magnitude(d0), x1 = magnitude(d1), sum = x0 + x1, one = all(1.0f);
        F u0 = x0 / safe(sum), u1 = x1 / safe(sum), cross = 2.0f * u0 * u1;
        I opposite = (d0 < 0.0f) != (d1 < 0.0f);
        F sign0 = d0 < 0.0f ? -one : one, sign1 = d1 < 0.0f ? -one : one;
        F same = sum == 0.0f ? F{} : ((x1 > x0 ? sign1 : sign0) * 0.5f);
        g0 = opposite ? 0.5f * sign0 * (u0 * u0 + cross - u1 * u1) : same;
        g1 = opposite ? 0.5f * sign1 * (u1 * u1 + cross - u0 * u0) : same;
        return mean(d0, d1);
    }
    F root(F sum) const { return sum; }
    F outer(F sum) const { return all(1.0f); }
};

struct OrderTwo {
    static constexpr bool scaled = true;
    static inline F mean(F d0, F d1) { return (d0 * d0 + d1 * (d0 + d1)) * (1.0f / 3); }
    static inline F gradient(F d0, F d1, F& g0, F& g1) {
        g0 = (2.0f * d0 + d1) * (1.0f / 3), g1 = (d0 + 2.0f * d1) * (1.0f / 3);
        return mean(d0, d1);
    }
    static inline F root(F sum) { for (int i = 0; i < LANES; i++) sum[i] = std::sqrt(sum[i]); return sum; }
    static inline F outer(F sum) { return sum > 0.0f ? 0.5f / root(safe(sum)) : F{}; }
};

struct OrderAny {
    static constexpr bool scaled = true;
    float p, q, c[TERMS];
    explicit OrderAny(double order) : p(order), q(order + 1) {
        double binomial = 1;
        for (int k = 0; k < TERMS; k++) {
            c[k] = binomial / (k + 1);
            binomial *= -(order - k) / (k + 1);
        }
    }
    struct Ends { F h, l, hp, lp, gap, s; I second; };
    // r0, r1 are |d0|^p and |d1|^p, which two neighbouring segments share.
    static inline Ends ends(F d0, F d1, F r0, F r1) {
        F x0 = magnitude(d0), x1 = magnitude(d1);
        Ends e;
        e.second = x1 > x0;
        e.h = larger(x0, x1), e.l = smaller(x0, x1), e.hp = larger(r0, r1), e.lp = smaller(r0, r1);
        e.l = (F)((I)e.l | (((I)d0 ^ (I)d1) & INT32_MIN));
        e.gap = e.h - e.l, e.s = e.gap / safe(e.h);
        return e;
    }
    inline F mean(F d0, F d1, F r0, F r1) const {
        Ends e = ends(d0, d1, r0, r1);
        F g = all(c[TERMS - 1]);
        for (int k = TERMS - 2; k >= 0; k--) g = g * e.s + c[k];
        return q * e.gap > e.h ? (e.h * e.hp - e.l * e.lp) / (q * safe(e.gap)) : e.hp * g;
    }
    inline F gradient(F d0, F d1, F r0, F r1, F& g0, F& g1) const {
        Ends e = ends(d0, d1, r0, r1);
        F one = all(1.0f), g = all(c[TERMS - 1]), slope = F{};
        for (int k = TERMS - 2; k >= 0; k--) slope = slope * e.s + g, g = g * e.s + c[k];  // Horner and its derivative
        I direct = q * e.gap > e.h;
        F gap = safe(e.gap), unit = e.hp / safe(e.h);
        F f = direct ? (e.h * e.hp - e.l * e.lp) / (q * gap) : e.hp * g;
        F sign = (e.second ? d1 : d0) < 0.0f ? -one : one;
        F by_h = sign * (direct ? (e.hp - f) / gap : unit * (p * g + slope * (1.0f - e.s)));
        F by_l = sign * (direct ? (f - e.lp) / gap : -unit * slope);
        g0 = e.second ? by_l : by_h, g1 = e.second ? by_h : by_l;
        return f;
    }
    F root(F sum) const { return sum > 0.0f ? exp2_of(log2_of(sum) * (1 / p)) : F{}; }
    F outer(F sum) const { return sum > 0.0f ? exp2_of(log2_of(sum) * (1 / p - 1)) / p : F{}; }
};

// W_p of one filter, one query against a tile. b holds L vectors of LANES references.

struct Scale { F to_one, magnitude; };  // two factors, so that 1/largest cannot overflow

static inline Scale scale_of(const float* a, const float* b, int L) {
    F top = F{};
    for (int j = 0; j < L; j++) top = larger(top, magnitude(a[j] - load(b + j * LANES)));
    return {1.0f / safe(top * 0x1p64f), top};
}

static inline F filter(const OrderOne&, const float* a, const float* b, const float* w, int L) {
    F before = a[0] - load(b), sum = F{};
    for (int j = 1; j < L; j++) {
        F d = a[j] - load(b + j * LANES);
        sum += w[j - 1] * OrderOne::mean(before, d);
        before = d;
    }
    return sum;
}

static F filter(const OrderAny& order, const float* a, const float* b, const float* w, int L) {
    Scale scale = scale_of(a, b, L);
    F before = (a[0] - load(b)) * 0x1p64f * scale.to_one, r = power(magnitude(before), order.p), sum = F{};
    for (int j = 1; j < L; j++) {
        F d = (a[j] - load(b + j * LANES)) * 0x1p64f * scale.to_one, rd = power(magnitude(d), order.p);
        sum += w[j - 1] * order.mean(before, d, r, rd);
        before = d, r = rd;
    }
    return scale.magnitude * order.root(sum);
}

static inline F filter(const OrderTwo&, const float* a, const float* b, const float* w, int L) {
    F before = a[0] - load(b), sum = F{};
    for (int j = 1; j < L; j++) {
        F d = a[j] - load(b + j * LANES);
        sum += w[j - 1] * (before * before + d * (before + d));
        before = d;
    }
    I outside = (sum < 1e-30f) | (sum > 1e30f);  // squares may have left float32's range
    bool redo = false;
    for (int i = 0; i < LANES; i++) redo |= outside[i] != 0;
    if (redo) return filter(OrderAny(2.0), a, b, w, L);
    return OrderTwo::root(sum * (1.0f / 3));
}

template <class Order>
static void forward(const Order& order, const float* a, const float* tiles, const float* w, float* out, int64_t columns,
                    int64_t first, int64_t R, int64_t K, int64_t L, int64_t first_tile, int64_t last_tile, int64_t first_query, int64_t last_query,
                    bool per_filter) {
    for (int64_t tile = first_tile; tile < last_tile; tile++) {
        const float* b = tiles + tile * K * L * LANES;
        const int64_t lanes = R - tile * LANES < LANES ? R - tile * LANES : LANES, column = first + tile * LANES;
        for (int64_t q0 = first_query; q0 < last_query; q0 += QUERIES) {
            const int64_t count = last_query - q0 < QUERIES ? last_query - q0 : QUERIES;
            D sum[QUERIES] = {};  // over filters, in double: 128 filters must not cost digits
            for (int64_t k = 0; k < K; k++)
                for (int64_t i = 0; i < count; i++) {
                    F value = filter(order, a + ((q0 + i) * K + k) * L, b + k * L * LANES, w, L);
                    if (per_filter)
                        for (int64_t r = 0; r < lanes; r++) out[((q0 + i) * columns + column + r) * K + k] = value[r];
                    else
                        sum[i] += __builtin_convertvector(value, D);
                }
            if (!per_filter)
                for (int64_t i = 0; i < count; i++)
                    for (int64_t r = 0; r < lanes; r++) out[(q0 + i) * columns + column + r] = (float)sum[i][r];
        }
    }
}

static inline F gradient_at(const OrderAny& o, F d0, F d1, F r0, F r1, F& g0, F& g1) { return o.gradient(d0, d1, r0, r1, g0, g1); }
template <class Order>
static inline F gradient_at(const Order&, F d0, F d1, F, F, F& g0, F& g1) { return Order::gradient(d0, d1, g0, g1); }
static inline F knot_power(const OrderAny& o, F d) { return power(magnitude(d), o.p); }
template <class Order> static inline F knot_power(const Order&, F d) { return F{}; }

template <class Order>
static void backward(const Order& order, const float* a, const float* tiles, const float* w, const float* outer, float* grad_a,
                     float* grad_tiles, float* grad_w, int64_t Q, int64_t T, int64_t K, int64_t L, int64_t first_filter,
                     int64_t last_filter, bool per_filter) {
    std::vector<F> by_knot(L), by_width(L);
    for (int64_t k = first_filter; k < last_filter; k++)
        for (int64_t tile = 0; tile < T; tile++) {
            const float* b = tiles + (tile * K + k) * L * LANES;
            float* grad_b = grad_tiles + (tile * K + k) * L * LANES;
            for (int64_t i = 0; i < Q; i++) {
                const float* query = a + (i * K + k) * L;
                const F above = load(outer + (per_filter ? (tile * Q + i) * K + k : tile * Q + i) * LANES);
                const Scale scale = Order::scaled ? scale_of(query, b, L) : Scale{all(0x1p-64f), all(1.0f)};
                F d0 = (query[0] - load(b)) * 0x1p64f * scale.to_one, r0 = knot_power(order, d0), sum = F{};
                by_knot[0] = F{};
                for (int64_t j = 1; j < L; j++) {
                    F d1 = (query[j] - load(b + j * LANES)) * 0x1p64f * scale.to_one, r1 = knot_power(order, d1), g0, g1;
                    F f = gradient_at(order, d0, d1, r0, r1, g0, g1);
                    by_knot[j - 1] += w[j - 1] * g0, by_knot[j] = w[j - 1] * g1, by_width[j - 1] = f, sum += w[j - 1] * f;
                    d0 = d1, r0 = r1;
                }
                const F factor = above * order.outer(sum);
                for (int64_t j = 0; j < L; j++) {
                    F g = factor * by_knot[j];
                    grad_a[(i * K + k) * L + j] += total(g);
                    store(grad_b + j * LANES, load(grad_b + j * LANES) - g);
                }
                for (int64_t j = 0; j + 1 < L; j++) grad_w[k * (L - 1) + j] += total(factor * scale.magnitude * by_width[j]);
            }
        }
}

extern "C" {

int64_t qpwl_lanes() { return LANES; }

// a (Q, K, L); tiles (T, K, L, LANES), R references in all; w (L-1); out (Q, columns) or (Q, columns, K), from column `first` on.
void qpwl_forward(const float* a, const float* tiles, const float* w, float* out, double p, int per_filter, int64_t columns, int64_t first,
                  int64_t R, int64_t K, int64_t L, int64_t first_tile, int64_t last_tile, int64_t first_query, int64_t last_query) {
    auto run = [&](const auto& order) {
        forward(order, a, tiles, w, out, columns, first, R, K, L, first_tile, last_tile, first_query, last_query, per_filter);
    };
    if (p == 1) run(OrderOne()); else if (p == 2) run(OrderTwo()); else run(OrderAny(p));
}

// outer (T, Q, LANES) or (T, Q, K, LANES); the gradients have the shapes of what they belong to, grad_w (K, L-1).
void qpwl_backward(const float* a, const float* tiles, const float* w, const float* outer, float* grad_a, float* grad_tiles, float* grad_w,
                   double p, int per_filter, int64_t Q, int64_t T, int64_t K, int64_t L, int64_t first_filter, int64_t last_filter) {
    auto run = [&](const auto& order) {
        backward(order, a, tiles, w, outer, grad_a, grad_tiles, grad_w, Q, T, K, L, first_filter, last_filter, per_filter);
    };
    if (p == 1) run(OrderOne()); else if (p == 2) run(OrderTwo()); else run(OrderAny(p));
}

// Where in x the order statistics of the given ranks stand, ties in order of appearance (a stable sort's answer).
// x and sorted (rows, T), of which the first lengths[row] count; ranks (rows, count); found (rows, count).
void qpwl_locate(const float* x, const float* sorted, const int64_t* lengths, const int64_t* ranks, int64_t* found, int64_t T, int64_t count,
                 int64_t first_row, int64_t last_row) {
    for (int64_t row = first_row; row < last_row; row++) {
        const float *values = x + row * T, *order = sorted + row * T;
        const int64_t length = lengths[row];
        for (int64_t c = 0; c < count; c++) {
            const int64_t rank = ranks[row * count + c];
            const float value = order[rank];
            if (c && rank == ranks[row * count + c - 1]) { found[row * count + c] = found[row * count + c - 1]; continue; }
            int64_t low = 0, high = rank;  // the first place in `order` that holds this value
            if (rank && order[rank - 1] == value)
                while (low < high) { int64_t middle = (low + high) / 2; if (order[middle] < value) low = middle + 1; else high = middle; }
            else low = rank;
            int64_t left = rank - low, t = 0;  // how many equal samples stand before it
            for (;;) {
                for (; t + 64 <= length; t += 64) {
                    int hits = 0;
                    for (int i = 0; i < 64; i++) hits |= values[t + i] == value;
                    if (hits) break;
                }
                while (t < length && values[t] != value) t++;
                if (t >= length || left-- == 0) break;
                t++;
            }
            found[row * count + c] = t;
        }
    }
}

}
