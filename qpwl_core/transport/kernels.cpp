// Pairwise W_p of quantile functions, its gradient, order statistics (sorting.h), PReLU, and layers of convolutions
// (convolutions.h), in float32.
//
// The formulas are those of closed_form.py, written for vectors: a "tile" is LANES references side by side, so that
// one query's knot is compared with LANES references at once. Built on the user's machine by kernels.py, with no header
// of PyTorch; where the compiler has OpenMP, its runtime is the one that PyTorch has loaded, so both share their threads.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

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
#if defined(__AVX512F__)
static inline F larger(F x, F y) { return (F)_mm512_max_ps((__m512)x, (__m512)y); }
static inline F smaller(F x, F y) { return (F)_mm512_min_ps((__m512)x, (__m512)y); }
#elif defined(__AVX__)
static inline F larger(F x, F y) { return __builtin_ia32_maxps256(x, y); }
static inline F smaller(F x, F y) { return __builtin_ia32_minps256(x, y); }
#else
static inline F larger(F x, F y) { return x > y ? x : y; }
static inline F smaller(F x, F y) { return x < y ? x : y; }
#endif
static inline F safe(F x) { return x == 0.0f ? all(1.0f) : x; }  // a divisor whose numerator is zero too
static inline bool any(I mask) {
#if defined(__AVX512F__)
    return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask);
#elif defined(__AVX__)
    return __builtin_ia32_movmskps256((F)mask);
#else
    int32_t found = 0;
    for (int i = 0; i < LANES; i++) found |= mask[i];
    return found;
#endif
}
static inline F inverse_of(F x) {                           // of a number that is not nought, to 23 digits
#if defined(__AVX__) && !defined(__AVX512F__)
    const F near = __builtin_ia32_rcpps256(x);             // 12 digits, and Newton
    return near + near * (1.0f - x * near);
#else
    return 1.0f / x;
#endif
}
static inline F square_root(F x) {
#if defined(__AVX__) && !defined(__AVX512F__)
    return __builtin_ia32_sqrtps256(x);
#else
    for (int i = 0; i < LANES; i++) x[i] = std::sqrt(x[i]);
    return x;
#endif
}
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
// its derivatives.

struct OrderOne {
    static constexpr bool scaled = false;  // for the gradient
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
    static inline F outer(F) { return all(1.0f); }
};

// p = 2 and p = 3 are polynomials, three times as fast as any p. They take the differences unscaled; sums outside
// [least, most] may have left float32's range on the way, and are done again by OrderAny.

struct OrderTwo {
    static constexpr bool scaled = true;
    static constexpr float order = 2, least = 1e-30f, most = 1e30f;
    static inline F mean(F d0, F d1) { return (d0 * d0 + d1 * (d0 + d1)) * (1.0f / 3); }
    static inline F gradient(F d0, F d1, F& g0, F& g1) {
        g0 = (d0 + d0 + d1) * (1.0f / 3), g1 = (d1 + d1 + d0) * (1.0f / 3);
        return mean(d0, d1);
    }
    static inline F root(F sum) { return square_root(sum); }
    static inline F outer(F sum) { return sum > 0.0f ? 0.5f / square_root(safe(sum)) : F{}; }
};

struct OrderThree {
    static constexpr float order = 3, least = 1e-24f, most = 1e24f;
    static inline F mean(F d0, F d1) {
        F x0 = magnitude(d0), x1 = magnitude(d1), y0 = d0 * d0, y1 = d1 * d1, sum = x0 + x1;
        I opposite = ((I)d0 ^ (I)d1) < 0;
        return 0.25f * (opposite ? (y0 * y0 + y1 * y1) / safe(sum) : (y0 + y1) * sum);
    }
    static inline F root(F sum) { return exp2_of(log2_of(sum) * (1.0f / 3)); }
};

// Any real p, a distance alone. With F(d) = d |d|^p, which neighbouring segments share, a segment is
// (F(d1) − F(d0)) / (q (d1 − d0)); where d0 and d1 are alike, q s <= alike, the series of closed_form.py as a polynomial of
// degree 4. Differences are divided by a power of two near those of three knots; sums outside [least, most] are done again
// by OrderAny.
struct OrderReal {
    static constexpr float least = 1e-24f, most = 1e24f, alike = 0.5f;
    double order;
    float p, edge, floor, g[5];       // edge: s up to which ends are alike; g: q times the series, error 1e-7 of it
#if defined(__AVX512F__)
    F inverses, logs;                 // of 16 mantissas, and p times the log2 of the mantissas
#endif
    explicit OrderReal(double order) : order(order), p(order), edge(alike / (order + 1)), floor(std::exp2(-100 / order)) {
        double node[5], value[5], sum[5] = {};
        for (int i = 0; i < 5; i++) {                       // at Chebyshev's nodes of [0, edge], by Newton's differences
            node[i] = edge * (1 + std::cos(M_PI * (2 * i + 1) / 10)) / 2, value[i] = 0;
            double term = 1;
            for (int k = 0; k < 32; k++) value[i] += term / (k + 1), term *= -(order - k) / (k + 1) * node[i];
        }
        for (int k = 1; k < 5; k++)
            for (int i = 4; i >= k; i--) value[i] = (value[i] - value[i - 1]) / (node[i] - node[i - k]);
        for (int i = 4; i >= 0; i--) {
            for (int k = 4; k > 0; k--) sum[k] = sum[k - 1] - node[i] * sum[k];
            sum[0] = value[i] - node[i] * sum[0];
        }
        for (int k = 0; k < 5; k++) g[k] = (order + 1) * sum[k];
#if defined(__AVX512F__)
        for (int i = 0; i < LANES; i++) {
            inverses[i] = 1 / (1 + (i + 0.5) / LANES);
            logs[i] = order * (3.8e-8 - std::log2((double)inverses[i]));
        }
#endif
    }
    // x^p for x > 0. p log2(x) is p times the exponent, exactly, and p times the log2 of the mantissa m, with an error of
    // 4e-8 in log2: by degree 3 about one of 16 inverses where a register holds them, else by degree 8. 2^f: degree 5, 8e-8.
    inline F power(F x) const {
#if defined(__AVX512F__)
        const F e = (F)_mm512_getexp_ps((__m512)x), m = (F)_mm512_getmant_ps((__m512)x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero);
        const __m512i place = _mm512_srli_epi32((__m512i)x, 19);                    // first four digits of the mantissa
        const F r = m * (F)_mm512_permutexvar_ps(place, (__m512)inverses) - 1.0f;
        const F l = r * (r * (r * (4.812297731e-01f * p) - 7.216789085e-01f * p) + 1.442694965e+00f * p)
                    + (F)_mm512_permutexvar_ps(place, (__m512)logs);
        const F n = (F)_mm512_roundscale_ps((__m512)(p * e + l), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        return (F)_mm512_scalef_ps((__m512)exp2_near(p * e - n + l), (__m512)n);
#else
        const F e = __builtin_convertvector(((I)x >> 23) - 127, F), m = (F)(((I)x & 0x7fffff) | 0x3f800000) - 1.5f;
        F l = all(-8.874696644e-03f);
        for (float k : {1.477872077e-02f, -2.068585496e-02f, 3.746293751e-02f, -7.128301135e-02f, 1.425263702e-01f,
                        -3.205976659e-01f, 9.617959717e-01f, 5.849624945e-01f}) l = l * m + k;
        const F n = smaller((p * e + p * l + 12582912.0f) - 12582912.0f, all(127.0f)), f = p * e - n + p * l;
        return exp2_near(smaller(f, all(1.0f))) * (F)((__builtin_convertvector(n, I) + 127) << 23);
#endif
    }
    static inline F exp2_near(F f) {                                                // 2^f for |f| <= 1/2
        F s = all(1.340043217e-03f);
        for (float k : {9.676037098e-03f, 5.550327214e-02f, 2.402210736e-01f, 6.931472067e-01f, 1.0f}) s = s * f + k;
        return s;
    }
    // q times the mean of |linear|^p between the ends d0 and d1, given x = |d|, r = |d|^p and F(d) of both.
    inline F mean(F d0, F d1, F x0, F x1, F r0, F r1, F f0, F f1) const {
        const F rise = d1 - d0, gap = magnitude(rise), h = larger(x0, x1), r = larger(r0, r1);
#if defined(__AVX512F__)
        const __mmask16 direct = _mm512_cmp_ps_mask((__m512)gap, (__m512)(edge * h), _CMP_GT_OQ);
        const F below = (F)_mm512_mask_blend_ps(direct, (__m512)h, (__m512)rise);
        F one_over = (F)_mm512_rcp14_ps((__m512)below);
        one_over = one_over + one_over * (1.0f - below * one_over);                 // Newton: 28 digits of 14
        const F s = gap * one_over, series = r * ((((s * g[4] + g[3]) * s + g[2]) * s + g[1]) * s + g[0]);
        return (F)_mm512_mask_mul_ps((__m512)series, direct, (__m512)(f1 - f0), (__m512)one_over);
#else
        const I direct = gap > edge * h;
        const F one_over = inverse_of(direct ? rise : h), s = gap * one_over;
        const F series = r * ((((s * g[4] + g[3]) * s + g[2]) * s + g[1]) * s + g[0]);
        return direct ? (f1 - f0) * one_over : series;
#endif
    }
    // sum^(1/p), the exponent's part again without loss: 1/p in two numbers.
    F root(F sum) const {
        const float inverse = 1 / order, rest = 1 / order - (double)inverse;
        const F e = __builtin_convertvector(((I)sum >> 23) - 127, F), m = (F)(((I)sum & 0x7fffff) | 0x3f800000);
        const F l = e * rest + log2_of(m) * inverse, n = (e * inverse + l + 12582912.0f) - 12582912.0f;
        return exp2_of(e * inverse - n + l) * (F)((__builtin_convertvector(n, I) + 127) << 23);
    }
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

struct Scale { F near_one, to_one, magnitude; };  // two factors, so that neither 1/largest nor what it is made of overflows

static inline Scale scale_of(const float* a, const float* b, int L) {
    F top = F{};
    for (int j = 0; j < L; j++) top = larger(top, magnitude(a[j] - load(b + j * LANES)));
    const F near_one = top < 1.0f ? all(0x1p64f) : all(0x1p-64f);
    return {near_one, 1.0f / safe(top * near_one), top};
}

template <class Order>
static inline F segments(const float* a, const float* b, const float* w, int L) {
    F before = a[0] - load(b), sum = F{};
    for (int j = 1; j < L; j++) {
        F d = a[j] - load(b + j * LANES);
        sum += w[j - 1] * Order::mean(before, d);
        before = d;
    }
    return sum;
}

static inline F filter(const OrderOne&, const float* a, const float* b, const float* w, int L) {
    return segments<OrderOne>(a, b, w, L);
}

static F filter(const OrderAny& order, const float* a, const float* b, const float* w, int L) {
    Scale scale = scale_of(a, b, L);
    F before = (a[0] - load(b)) * scale.near_one * scale.to_one, r = power(magnitude(before), order.p), sum = F{};
    for (int j = 1; j < L; j++) {
        F d = (a[j] - load(b + j * LANES)) * scale.near_one * scale.to_one, rd = power(magnitude(d), order.p);
        sum += w[j - 1] * order.mean(before, d, r, rd);
        before = d, r = rd;
    }
    return scale.magnitude * order.root(sum);
}

static inline F filter(const OrderReal& order, const float* a, const float* b, const float* w, int L) {
    F some = F{};                                                        // the size of the difference at a few knots
    for (int j : {0, L / 2, L - 1}) some = larger(some, magnitude(a[j] - load(b + j * LANES)));
    const F size = (F)((I)smaller(larger(some, all(1e-30f)), all(1e30f)) & 0x7f800000), scale = 1.0f / size;
    F d0 = (a[0] - load(b)) * scale, x0 = larger(magnitude(d0), all(order.floor)), r0 = order.power(x0), f0 = d0 * r0, sum = F{};
    for (int j = 1; j < L; j++) {
        const F d1 = (a[j] - load(b + j * LANES)) * scale, x1 = larger(magnitude(d1), all(order.floor));
        const F r1 = order.power(x1), f1 = d1 * r1;
        sum += w[j - 1] * order.mean(d0, d1, x0, x1, r0, r1, f0, f1);
        d0 = d1, x0 = x1, r0 = r1, f0 = f1;
    }
    const I odd = ~((sum >= OrderReal::least) & (sum <= OrderReal::most));
    const F found = size * order.root(sum * (1 / (order.p + 1)));
    return any(odd) ? (odd ? filter(OrderAny(order.order), a, b, w, L) : found) : found;   // a lane never depends on others
}

template <class Order>
static inline F filter(const Order&, const float* a, const float* b, const float* w, int L) {
    const F sum = segments<Order>(a, b, w, L);
    const I odd = (sum < Order::least) | (sum > Order::most);
    return any(odd) ? (odd ? filter(OrderAny(Order::order), a, b, w, L) : Order::root(sum)) : Order::root(sum);
}

template <class Order>
static void forward(const Order& order, const float* a, const float* tiles, const float* w, float* out, int64_t columns,
                    int64_t first, int64_t Q, int64_t R, int64_t K, int64_t L, int threads, bool per_filter) {
    const int64_t blocks = (Q + QUERIES - 1) / QUERIES, all_tiles = (R + LANES - 1) / LANES;
    #pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t item = 0; item < all_tiles * blocks; item++) {
        const int64_t tile = item / blocks, q0 = item % blocks * QUERIES, column = first + tile * LANES;
        const int64_t lanes = R - tile * LANES < LANES ? R - tile * LANES : LANES;
        const int64_t count = Q - q0 < QUERIES ? Q - q0 : QUERIES;
        const float* b = tiles + tile * K * L * LANES;
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

// A few queries against many rows where they lie: each row is read once and tiled in the cache.

// LANES rows to one tile: rounds of a perfect shuffle, after which rows are columns. The next rows are on their way then.
static inline void tiled(const float* const* rows, const float* const* next, float* tile, int64_t size) {
    I low, high;
    for (int i = 0; i < LANES; i++) low[i] = i / 2 + i % 2 * LANES, high[i] = low[i] + LANES / 2;
    for (int64_t at = 0; at < size && size >= LANES; at += LANES) {
        const int64_t j = std::min(at, size - LANES);                    // the last vectors overlap those before
        F x[LANES], y[LANES];
        for (int i = 0; i < LANES; i++) x[i] = load(rows[i] + j), __builtin_prefetch(next[i] + j);
        for (int done = 1; done < LANES; done *= 2) {
            for (int i = 0; i < LANES / 2; i++) {
                y[2 * i] = __builtin_shuffle(x[i], x[i + LANES / 2], low);
                y[2 * i + 1] = __builtin_shuffle(x[i], x[i + LANES / 2], high);
            }
            std::copy(y, y + LANES, x);
        }
        for (int i = 0; i < LANES; i++) store(tile + (j + i) * LANES, x[i]);
    }
    for (int64_t j = 0; j < size && size < LANES; j++)
        for (int i = 0; i < LANES; i++) tile[j * LANES + i] = rows[i][j];
}

template <class Order>
static void scan(const Order& order, const float* a, const float* rows, const int64_t* which, const float* w, float* out,
                 int64_t Q, int64_t count, int64_t K, int64_t L, int threads) {
    const int64_t size = K * L;
    #pragma omp parallel num_threads(threads)
    {
        std::vector<float> space(size * LANES + LANES);
        float* tile = (float*)(((uintptr_t)space.data() + 4 * LANES - 1) / (4 * LANES) * (4 * LANES));
        #pragma omp for schedule(static)
        for (int64_t first = 0; first < count; first += LANES) {
            const float *row[LANES], *next[LANES];
            for (int i = 0; i < LANES; i++) {
                row[i] = rows + which[std::min(first + i, count - 1)] * size;
                next[i] = rows + which[std::min(first + LANES + i, count - 1)] * size;
            }
            tiled(row, next, tile, size);
            for (int64_t q = 0; q < Q; q++) {
                D sum = D{};
                for (int64_t k = 0; k < K; k++)
                    sum += __builtin_convertvector(filter(order, a + q * size + k * L, tile + k * L * LANES, w, L), D);
                for (int64_t i = 0; i < LANES && first + i < count; i++) out[q * count + first + i] = (float)sum[i];
            }
        }
    }
}

static inline F gradient_at(const OrderAny& o, F d0, F d1, F r0, F r1, F& g0, F& g1) { return o.gradient(d0, d1, r0, r1, g0, g1); }
template <class Order>
static inline F gradient_at(const Order&, F d0, F d1, F, F, F& g0, F& g1) { return Order::gradient(d0, d1, g0, g1); }
static inline F knot_power(const OrderAny& o, F d) { return power(magnitude(d), o.p); }
template <class Order> static inline F knot_power(const Order&, F) { return F{}; }

template <class Order>
static void backward(const Order& order, const float* a, const float* tiles, const float* w, const float* outer, float* grad_a,
                     float* grad_tiles, float* grad_w, int64_t Q, int64_t T, int64_t K, int64_t L, int threads, bool per_filter) {
    #pragma omp parallel for num_threads(threads) schedule(static)  // a filter's gradients belong to one thread
    for (int64_t k = 0; k < K; k++) {
        std::vector<F> by_knot(L), by_width(L);
        for (int64_t tile = 0; tile < T; tile++) {
            const float* b = tiles + (tile * K + k) * L * LANES;
            float* grad_b = grad_tiles + (tile * K + k) * L * LANES;
            for (int64_t i = 0; i < Q; i++) {
                const float* query = a + (i * K + k) * L;
                const F above = load(outer + (per_filter ? (tile * Q + i) * K + k : tile * Q + i) * LANES);
                const Scale scale = Order::scaled ? scale_of(query, b, L) : Scale{all(1.0f), all(1.0f), all(1.0f)};
                F d0 = (query[0] - load(b)) * scale.near_one * scale.to_one, r0 = knot_power(order, d0), sum = F{};
                by_knot[0] = F{};
                for (int64_t j = 1; j < L; j++) {
                    F d1 = (query[j] - load(b + j * LANES)) * scale.near_one * scale.to_one, r1 = knot_power(order, d1), g0, g1;
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
}

#include "sorting.h"

extern "C" {

int64_t qpwl_lanes() { return LANES; }

// a (Q, K, L); tiles (T, K, L, LANES), R references in all; w (L-1); out (Q, columns) or (Q, columns, K), from column `first` on.
void qpwl_forward(const float* a, const float* tiles, const float* w, float* out, double p, int64_t per_filter, int64_t threads, int64_t columns,
                  int64_t first, int64_t Q, int64_t R, int64_t K, int64_t L) {
    auto run = [&](const auto& order) { forward(order, a, tiles, w, out, columns, first, Q, R, K, L, threads, per_filter); };
    if (p == 1) run(OrderOne()); else if (p == 2) run(OrderTwo()); else if (p == 3) run(OrderThree()); else run(OrderReal(p));
}

// a (Q, K, L); rows (…, K, L), of which those numbered which (count) count; w (L-1); out (Q, count).
void qpwl_scan(const float* a, const float* rows, const int64_t* which, const float* w, float* out, double p, int64_t threads, int64_t Q,
               int64_t count, int64_t K, int64_t L) {
    auto run = [&](const auto& order) { scan(order, a, rows, which, w, out, Q, count, K, L, threads); };
    if (p == 1) run(OrderOne()); else if (p == 2) run(OrderTwo()); else if (p == 3) run(OrderThree()); else run(OrderReal(p));
}

// outer (T, Q, LANES) or (T, Q, K, LANES); the gradients have the shapes of what they belong to, grad_w (K, L-1).
void qpwl_backward(const float* a, const float* tiles, const float* w, const float* outer, float* grad_a, float* grad_tiles, float* grad_w,
                   double p, int64_t per_filter, int64_t threads, int64_t Q, int64_t T, int64_t K, int64_t L) {
    auto run = [&](const auto& order) { backward(order, a, tiles, w, outer, grad_a, grad_tiles, grad_w, Q, T, K, L, threads, per_filter); };
    if (p == 1) run(OrderOne()); else if (p == 2) run(OrderTwo()); else run(OrderAny(p));
}

// Q~ between the samples on either side of each position r N, ties in order of appearance. x (B, K, T), of whose rows the
// first lengths (B) count; position (B, L); out, and what the gradient needs: rise (B, K, L), of the one sample above the
// other, and places (B, K, 2L) of both. Returns how many rows hold a sample that is not finite.
int64_t qpwl_quantiles(const float* x, const int64_t* lengths, const double* position, float* out, float* rise, int32_t* places,
                       int64_t threads, int64_t B, int64_t K, int64_t T, int64_t L) {
    int64_t bad = 0;
    const bool together = T <= Rows::LONGEST && B * K >= LANES;
    #pragma omp parallel num_threads(threads) reduction(+ : bad)
    {
        Row sorted(T);
        Rows many(together ? T : 1);
        std::vector<int64_t> rank(2 * L);                        // below and above each position, of the present sequence
        std::vector<float> fractions(L);
        int64_t present = -1;
        #pragma omp for schedule(static)
        for (int64_t group = 0; group < B * K; group += LANES) {
            const int64_t count = std::min<int64_t>(LANES, B * K - group);
            I odd = I{}, wrong = I{} - 1;
            if (together) {
                const float *rows[LANES], *next[LANES];
                I counted;
                for (int64_t i = 0; i < LANES; i++) {
                    const int64_t row = group + std::min(i, count - 1);
                    rows[i] = x + row * T, next[i] = x + std::min(row + LANES, B * K - 1) * T, counted[i] = lengths[row / K];
                }
                many.fill(rows, next, counted, T, odd, wrong);
            }
            for (int64_t i = 0; i < count; i++) {
                const int64_t row = group + i, end = lengths[row / K] - 1;
                const float* from = x + row * T;
                int32_t* place = places + row * 2 * L;
                if (present != row / K) {
                    present = row / K;
                    for (int64_t l = 0; l < L; l++) {
                        const double at = position[present * L + l];
                        rank[l] = std::max<int64_t>(std::min((int64_t)at, end), 0);
                        rank[L + l] = std::max<int64_t>(std::min(rank[l] + 1, end), 0);
                        fractions[l] = at - rank[l];
                    }
                }
                if (odd[i] || (wrong[i] && !sorted.fill(from, end + 1))) { bad++; continue; }
                if (wrong[i]) for (int64_t l = 0; l < 2 * L; l++) place[l] = sorted.place(rank[l]);
                else for (int64_t l = 0; l < 2 * L; l++) place[l] = many.place(i, rank[l]);
                for (int64_t l = 0; l < L; l++) {
                    const float low = from[place[l]], high = from[place[L + l]], fraction = fractions[l];
                    rise[row * L + l] = high - low;
                    out[row * L + l] = fraction < 0.5f ? low + fraction * (high - low) : high - (high - low) * (1 - fraction);
                }
            }
        }
    }
    return bad;
}

// Its gradients: by_x (B, K, T), by_position (B, L), a sum over filters in their order, whatever the threads.
void qpwl_quantiles_backward(const float* outer, const int64_t* lengths, const double* position, const float* rise, const int32_t* places,
                             float* by_x, double* by_position, int64_t threads, int64_t B, int64_t K, int64_t T, int64_t L) {
    #pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t b = 0; b < B; b++) {
        double* sums = by_position + b * L;
        std::fill(sums, sums + L, 0.0);
        std::vector<float> fraction(L), by_low(L), by_high(L);
        for (int64_t l = 0; l < L; l++) {
            const double at = position[b * L + l];
            fraction[l] = at - std::max<int64_t>(std::min((int64_t)at, lengths[b] - 1), 0);
        }
        for (int64_t row = b * K; row < (b + 1) * K; row++) {
            float* to = by_x + row * T;
            const float* above = outer + row * L;
            const int32_t* place = places + row * 2 * L;
            std::fill(to, to + T, 0.0f);
            for (int64_t l = 0; l < L; l++) by_high[l] = above[l] * fraction[l], sums[l] += (double)above[l] * rise[row * L + l];
            asm volatile("" ::: "memory");                                   // rounded here, and not fused with what follows
            for (int64_t l = 0; l < L; l++) by_low[l] = above[l] - by_high[l];
            for (int64_t l = 0; l < L; l++) to[place[l]] += by_low[l];       // all samples below, then those above, as PyTorch adds
            for (int64_t l = 0; l < L; l++) to[place[L + l]] += by_high[l];
        }
    }
}

// x, out (B, K, T); slopes (K). One pass over memory, where PyTorch makes several.
void qpwl_prelu(const float* x, const float* slopes, float* out, int64_t threads, int64_t B, int64_t K, int64_t T) {
    #pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < B * K; row++) {
        const float slope = slopes[row % K];
        for (int64_t i = row * T; i < (row + 1) * T; i++) out[i] = x[i] > 0 ? x[i] : slope * x[i];
    }
}

// Gradients of PReLU: by_x (B, K, T), and by_slope (B, K), a sum a row, so that threads do not change its order.
void qpwl_prelu_backward(const float* x, const float* slopes, const float* outer, float* by_x, float* by_slope, int64_t threads,
                         int64_t B, int64_t K, int64_t T) {
    #pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < B * K; row++) {
        const float slope = slopes[row % K];
        const float *from = x + row * T, *above = outer + row * T;
        float* to = by_x + row * T;
        F sums = F{};
        int64_t i = 0;
        for (; i + LANES <= T; i += LANES) {
            const F v = load(from + i), g = load(above + i);
            store(to + i, v > 0.0f ? g : slope * g);
            sums += v > 0.0f ? F{} : v * g;
        }
        float sum = total(sums);
        for (; i < T; i++) {
            to[i] = from[i] > 0 ? above[i] : slope * above[i];
            sum += from[i] > 0 ? 0 : from[i] * above[i];
        }
        by_slope[row] = sum;
    }
}

}

#include "convolutions.h"
