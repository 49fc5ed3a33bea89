// A layer of convolutions over time with what follows it: batch norm, PReLU, and nothing where frames are padding.
//
// What is kept of a layer is z, the bare convolution. With n = scale z + shift (batch norm, or a bias) the layer gives
// y = n where n > 0, else slope n; the next layer makes y anew from z while it brings it into the cache, so that nothing
// but convolutions goes through memory. Frames from a sequence's length on are never computed. A thread takes a sequence
// at a time, and sums go in one order: what comes out depends neither on the rest of the batch nor on the threads.

#if defined(__AVX512F__)
constexpr int OUT = 8, WIDE = 3, MANY = 10;   // filters × vectors of frames that are summed in registers; taps × 2 vectors of filters
#else
constexpr int OUT = 4, WIDE = 3, MANY = 5;
#endif

constexpr int64_t PARTS = 8;                  // of a batch, whose gradients by the weights are summed apart, then in order

// What follows the convolution of a layer, a row of K numbers each.
enum { MEAN, RSTD, SCALE, SHIFT, UNBIASED, STATES };
enum { BARE, FIXED, LEARNS };                 // a bias alone; batch norm by what it has seen; batch norm by this batch

struct Layer {
    int64_t C, K, Ti, To, taps, stride, dilation;
    int64_t pad() const { return taps / 2 * dilation; }
    int64_t lead() const { return (pad() + stride - 1) / stride * stride; }                     // zeros before a row
    int64_t phase() const { return (Ti + 2 * lead()) / stride + (WIDE + 2) * LANES; }           // every stride-th sample
    int64_t row() const { return phase() * stride; }
    int64_t wide() const { return Ti + 2 * pad() + (WIDE + 2) * LANES; }                        // a row of gradients
    int64_t filters() const { return (K + 2 * LANES - 1) / (2 * LANES) * (2 * LANES); }
    int64_t many() const { return (C * taps + MANY - 1) / MANY * MANY; }
};

static inline F activated(F z, float scale, float shift, float slope) {
    const F n = z * scale + shift;
    return n > 0.0f ? n : slope * n;
}

// One sequence as the convolution wants it: zeros around it, samples that are a stride apart side by side. state: of the
// layer before, null before the first one.
static void gather(const Layer& l, const float* x, const float* state, const float* slopes, int64_t length, float* to) {
    const int64_t lead = l.lead(), phase = l.phase(), s = l.stride;
    std::vector<float> line(s > 1 ? length + LANES : 0);
    for (int64_t c = 0; c < l.C; c++) {
        const float* from = x + c * l.Ti;
        float *row = to + c * l.row(), *made = s > 1 ? line.data() : row + lead;
        int64_t t = 0;
        if (state) {
            const float scale = state[SCALE * l.C + c], shift = state[SHIFT * l.C + c], slope = slopes[c];
            for (; t + LANES <= length; t += LANES) store(made + t, activated(load(from + t), scale, shift, slope));
            for (; t < length; t++) { const float n = from[t] * scale + shift; made[t] = n > 0 ? n : slope * n; }
        } else
            std::copy(from, from + length, made);
        for (int64_t p = 0; p < s; p++) {
            float* part = row + p * phase;
            const int64_t count = p < length ? (length - p + s - 1) / s : 0;                     // samples of this phase
            std::fill(part, part + lead / s, 0.0f);
            if (s > 1) for (int64_t i = 0; i < count; i++) part[lead / s + i] = made[i * s + p];
            std::fill(part + lead / s + count, part + lead / s + count + l.pad() / s + 2, 0.0f);
        }
    }
}

template <int O, int V>
static inline void block(const float* __restrict w, const float* __restrict x, const int64_t* __restrict offsets, int64_t taps,
                         float* __restrict out, int64_t row) {
    F sum[O][V];
    for (int o = 0; o < O; o++) for (int v = 0; v < V; v++) sum[o][v] = F{};
    for (int64_t i = 0; i < taps; i++) {
        const float* from = x + offsets[i];
        F in[V];
        for (int v = 0; v < V; v++) in[v] = load(from + v * LANES);
        for (int o = 0; o < O; o++) {
            const float weight = w[i * O + o];
            for (int v = 0; v < V; v++) sum[o][v] += weight * in[v];
        }
    }
    for (int o = 0; o < O; o++) for (int v = 0; v < V; v++) store(out + o * row + v * LANES, sum[o][v]);
}

// `rows` rows of `length` frames: sums over `taps` of packed weights times what lies at the offsets.
static void convolve(const float* w, const float* x, const std::vector<int64_t>& offsets, float* out, int64_t rows, int64_t row,
                     int64_t length) {
    const int64_t taps = offsets.size();
    float part[OUT * WIDE * LANES];
    for (int64_t t = 0; t < length; t += WIDE * LANES) {
        const int64_t left = length - t, vectors = std::min<int64_t>(WIDE, (left + LANES - 1) / LANES);
        for (int64_t o = 0; o < rows; o += OUT) {
            const bool whole = vectors * LANES <= left && o + OUT <= rows;
            const float *weights = w + o * taps, *from = x + t;
            float* to = whole ? out + o * row + t : part;
            const int64_t step = whole ? row : WIDE * LANES;
            if (vectors == 1) block<OUT, 1>(weights, from, offsets.data(), taps, to, step);
            else if (vectors == 2) block<OUT, 2>(weights, from, offsets.data(), taps, to, step);
            else block<OUT, WIDE>(weights, from, offsets.data(), taps, to, step);
            if (!whole)
                for (int64_t i = 0; i < OUT && o + i < rows; i++)
                    std::copy(part + i * step, part + i * step + std::min(left, vectors * LANES), out + (o + i) * row + t);
        }
    }
}

// Where each tap of each channel begins in what `gather` made.
static std::vector<int64_t> offsets_of(const Layer& l) {
    std::vector<int64_t> offsets;
    for (int64_t c = 0; c < l.C; c++)
        for (int64_t k = 0; k < l.taps; k++) {
            const int64_t at = l.lead() - l.pad() + k * l.dilation;
            offsets.push_back(c * l.row() + at % l.stride * l.phase() + at / l.stride);
        }
    return offsets;
}

// Weights in blocks of OUT rows, tap after tap, from (K, C, taps) as it is, or for the way back.
static std::vector<float> packed_weights(const float* w, const Layer& l, bool back) {
    const int64_t rows = back ? l.C : l.K, from = back ? l.K : l.C, taps = from * l.taps;
    std::vector<float> packed((rows + OUT - 1) / OUT * OUT * taps);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t f = 0; f < from; f++)
            for (int64_t k = 0; k < l.taps; k++)
                packed[r / OUT * OUT * taps + (f * l.taps + k) * OUT + r % OUT] = w[((back ? f : r) * l.C + (back ? r : f)) * l.taps + k];
    return packed;
}

static inline float sum_of(const float* x, int64_t length) {
    F sums = F{};
    int64_t t = 0;
    for (; t + LANES <= length; t += LANES) sums += load(x + t);
    float sum = total(sums);
    for (; t < length; t++) sum += x[t];
    return sum;
}

static inline float spread_of(const float* x, int64_t length, float mean) {
    F sums = F{};
    int64_t t = 0;
    for (; t + LANES <= length; t += LANES) { const F d = load(x + t) - mean; sums += d * d; }
    float sum = total(sums);
    for (; t < length; t++) sum += (x[t] - mean) * (x[t] - mean);
    return sum;
}

// given (4, K): mean and variance seen so far, weight, bias; of a BARE layer the bias alone counts. moments (B, K, 2).
static void norm(const float* given, const float* moments, const int64_t* lengths, float* state, double eps, int64_t mode, int64_t B, int64_t K) {
    double count = 0;
    for (int64_t b = 0; b < B; b++) count += lengths[b];
    for (int64_t k = 0; k < K; k++) {
        double mean = given[k], variance = given[K + k], unbiased = variance;
        if (mode == LEARNS) {
            mean = variance = 0;
            for (int64_t b = 0; b < B; b++) mean += (double)moments[(b * K + k) * 2] * lengths[b];
            mean /= count;
            for (int64_t b = 0; b < B; b++) {
                const double apart = moments[(b * K + k) * 2] - mean;
                variance += moments[(b * K + k) * 2 + 1] + lengths[b] * apart * apart;
            }
            unbiased = variance / std::max(count - 1, 1.0), variance /= count;
        }
        const double rstd = mode == BARE ? 1 : 1 / std::sqrt(variance + eps), scale = mode == BARE ? 1 : given[2 * K + k] * rstd;
        state[MEAN * K + k] = mode == BARE ? 0 : mean, state[RSTD * K + k] = rstd, state[SCALE * K + k] = scale;
        state[SHIFT * K + k] = given[3 * K + k] - (mode == BARE ? 0 : mean * scale), state[UNBIASED * K + k] = unbiased;
    }
}

// Of one row: sums of g, the gradient by n; of g (z - mean); and the gradient by the slope.
static inline void sums_of(const float* by_y, const float* z, const float* state, float slope, int64_t K, int64_t k, int64_t length, float* sums) {
    const float scale = state[SCALE * K + k], shift = state[SHIFT * K + k], mean = state[MEAN * K + k];
    F first = F{}, second = F{}, third = F{};
    int64_t t = 0;
    for (; t + LANES <= length; t += LANES) {
        const F v = load(z + t), n = v * scale + shift, above = load(by_y + t), g = n > 0.0f ? above : slope * above;
        first += g, second += g * (v - mean), third += n > 0.0f ? F{} : above * n;
    }
    sums[0] = total(first), sums[1] = total(second), sums[2] = total(third);
    for (; t < length; t++) {
        const float n = z[t] * scale + shift, g = n > 0 ? by_y[t] : slope * by_y[t];
        sums[0] += g, sums[1] += g * (z[t] - mean), sums[2] += n > 0 ? 0 : by_y[t] * n;
    }
}

// The gradient by z of one row, a g + b z + c.
static inline void by_z(const float* by_y, const float* z, const float* state, float slope, const float* abc, int64_t K, int64_t k,
                        int64_t length, float* to) {
    const float scale = state[SCALE * K + k], shift = state[SHIFT * K + k], a = abc[k], b = abc[K + k], c = abc[2 * K + k];
    int64_t t = 0;
    for (; t + LANES <= length; t += LANES) {
        const F v = load(z + t), above = load(by_y + t), g = v * scale + shift > 0.0f ? above : slope * above;
        store(to + t, a * g + b * v + c);
    }
    for (; t < length; t++) to[t] = a * (z[t] * scale + shift > 0 ? by_y[t] : slope * by_y[t]) + b * z[t] + c;
}

// Rows of filters as columns: to (frames, filters), noughts where there is no such filter.
static void frames_first(const float* rows, int64_t row, int64_t K, int64_t filters, int64_t length, float* to) {
    I low, high;
    for (int i = 0; i < LANES; i++) low[i] = i / 2 + i % 2 * LANES, high[i] = low[i] + LANES / 2;
    for (int64_t k = 0; k < filters; k += LANES)
        for (int64_t t = 0; t < length; t += LANES) {            // rows are long enough to be read beyond their ends
            F x[LANES], y[LANES];
            for (int i = 0; i < LANES; i++) x[i] = k + i < K ? load(rows + (k + i) * row + t) : F{};
            for (int done = 1; done < LANES; done *= 2) {
                for (int i = 0; i < LANES / 2; i++) {
                    y[2 * i] = __builtin_shuffle(x[i], x[i + LANES / 2], low);
                    y[2 * i + 1] = __builtin_shuffle(x[i], x[i + LANES / 2], high);
                }
                std::copy(y, y + LANES, x);
            }
            for (int i = 0; i < LANES; i++) store(to + (t + i) * filters + k, x[i]);
        }
}

// by_w of one sequence is added: (taps of channels, filters), from g (frames, filters) and what `gather` made.
static void add_by_weights(const float* g, const float* x, const int64_t* offsets, int64_t many, int64_t filters, int64_t length, float* by_w) {
    for (int64_t i = 0; i < many; i += MANY)
        for (int64_t k = 0; k < filters; k += 2 * LANES) {
            const float* from[MANY];
            F sum[MANY][2];
            for (int j = 0; j < MANY; j++) from[j] = x + offsets[i + j], sum[j][0] = sum[j][1] = F{};
            const float* at = g + k;
            for (int64_t t = 0; t < length; t++, at += filters) {
                const F first = load(at), second = load(at + LANES);
                for (int j = 0; j < MANY; j++) { const float v = from[j][t]; sum[j][0] += v * first, sum[j][1] += v * second; }
            }
            for (int j = 0; j < MANY; j++) {
                float* to = by_w + (i + j) * filters + k;
                store(to, load(to) + sum[j][0]), store(to + LANES, load(to + LANES) + sum[j][1]);
            }
        }
}

extern "C" {

// x (B, C, Ti), of the layer before, which is made y by its state (STATES, C) and slopes (C), or what goes into the first one; w (K, C, taps);
// given (4, K); into (B), out_of (B): lengths. Writes z (B, K, To) and state (STATES, K).
void qpwl_layer(const float* x, const float* before, const float* slopes, const float* w, const float* given, const int64_t* into,
                const int64_t* out_of, float* z, float* state, double eps, int64_t mode, int64_t threads, int64_t B, int64_t C, int64_t K,
                int64_t Ti, int64_t To, int64_t taps, int64_t stride, int64_t dilation) {
    const Layer l{C, K, Ti, To, taps, stride, dilation};
    const std::vector<int64_t> offsets = offsets_of(l);
    const std::vector<float> weights = packed_weights(w, l, false);
    std::vector<float> moments(mode == LEARNS ? B * K * 2 : 0);
    #pragma omp parallel num_threads(threads)
    {
        std::vector<float> space(C * l.row());
        #pragma omp for schedule(static)
        for (int64_t b = 0; b < B; b++) {
            gather(l, x + b * C * Ti, before, slopes, into[b], space.data());
            convolve(weights.data(), space.data(), offsets, z + b * K * To, K, To, out_of[b]);
            for (int64_t k = 0; k < K && mode == LEARNS; k++) {
                const float* row = z + (b * K + k) * To;
                const float mean = sum_of(row, out_of[b]) / std::max<int64_t>(out_of[b], 1);
                moments[(b * K + k) * 2] = mean, moments[(b * K + k) * 2 + 1] = spread_of(row, out_of[b], mean);
            }
        }
    }
    norm(given, moments.data(), out_of, state, eps, mode, B, K);
}

// y (B, K, T) of the last layer; nought where frames are padding.
void qpwl_activated(const float* z, const float* state, const float* slopes, const int64_t* lengths, float* y, int64_t threads,
                    int64_t B, int64_t K, int64_t T) {
    #pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < B * K; row++) {
        const int64_t k = row % K, length = lengths[row / K];
        const float scale = state[SCALE * K + k], shift = state[SHIFT * K + k], slope = slopes[k], *from = z + row * T;
        float* to = y + row * T;
        int64_t t = 0;
        for (; t + LANES <= length; t += LANES) store(to + t, activated(load(from + t), scale, shift, slope));
        for (; t < length; t++) { const float n = from[t] * scale + shift; to[t] = n > 0 ? n : slope * n; }
        std::fill(to + length, to + T, 0.0f);
    }
}

// Sums (B, K, 3) that the gradient of the last layer needs; those of the others come along with qpwl_layer_backward.
void qpwl_sums(const float* by_y, const float* z, const float* state, const float* slopes, const int64_t* lengths, float* sums,
               int64_t threads, int64_t B, int64_t K, int64_t T) {
    #pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t row = 0; row < B * K; row++)
        sums_of(by_y + row * T, z + row * T, state, slopes[row % K], K, row % K, lengths[row / K], sums + row * 3);
}

// From by_y (B, K, To) and its sums (B, K, 3): by_w (K, C, taps), by_norm (3, K) of weight, bias and slopes, and, where they are not null,
// by_x (B, C, Ti) with the sums (B, C, 3) of the layer before.
void qpwl_layer_backward(const float* by_y, const float* z, const float* state, const float* own, const float* sums, const float* x,
                         const float* before, const float* slopes, const float* w, const int64_t* into, const int64_t* out_of, float* by_x,
                         float* sums_before, float* by_w, float* by_norm, int64_t mode, int64_t threads, int64_t B, int64_t C, int64_t K,
                         int64_t Ti, int64_t To, int64_t taps, int64_t stride, int64_t dilation) {
    const Layer l{C, K, Ti, To, taps, stride, dilation};
    std::vector<float> abc(3 * K);
    double count = 0;
    for (int64_t b = 0; b < B; b++) count += out_of[b];
    for (int64_t k = 0; k < K; k++) {
        double sum[3] = {};
        for (int64_t b = 0; b < B; b++) for (int i = 0; i < 3; i++) sum[i] += sums[(b * K + k) * 3 + i];
        const double mean = state[MEAN * K + k], rstd = state[RSTD * K + k], scale = state[SCALE * K + k];
        by_norm[k] = sum[1] * rstd, by_norm[K + k] = sum[0], by_norm[2 * K + k] = sum[2];
        const double slope = mode == LEARNS ? -scale * rstd * rstd * sum[1] / count : 0;
        abc[k] = scale, abc[K + k] = slope, abc[2 * K + k] = mode == LEARNS ? -scale * sum[0] / count - slope * mean : 0;
    }
    std::vector<int64_t> offsets = offsets_of(l), back;
    for (int64_t k = 0; k < K; k++) for (int64_t i = 0; i < taps; i++) back.push_back(k * l.wide() + 2 * l.pad() - i * dilation);
    offsets.resize(l.many(), offsets.back());
    const std::vector<float> weights = by_x ? packed_weights(w, l, true) : std::vector<float>();
    const int64_t filters = l.filters(), size = l.many() * filters;
    std::vector<float> by_weights(PARTS * size);
    #pragma omp parallel num_threads(threads)
    {
        std::vector<float> space(C * l.row()), wide(stride > 1 && by_x ? K * l.wide() : 0), rows(K * l.wide());
        std::vector<float> columns((To + LANES) * filters);
        #pragma omp for schedule(static)
        for (int64_t part = 0; part < PARTS; part++)
            for (int64_t b = part * B / PARTS; b < (part + 1) * B / PARTS; b++) {
                for (int64_t k = 0; k < K; k++) {
                    float* row = rows.data() + k * l.wide();
                    by_z(by_y + (b * K + k) * To, z + (b * K + k) * To, state, own[k], abc.data(), K, k, out_of[b], row + l.pad());
                    std::fill(row, row + l.pad(), 0.0f);
                    std::fill(row + l.pad() + out_of[b], row + 2 * l.pad() + out_of[b] + 1, 0.0f);
                }
                gather(l, x + b * C * Ti, before, slopes, into[b], space.data());
                frames_first(rows.data() + l.pad(), l.wide(), K, filters, out_of[b], columns.data());
                add_by_weights(columns.data(), space.data(), offsets.data(), l.many(), filters, out_of[b], by_weights.data() + part * size);
                if (!by_x) continue;
                if (stride > 1) {
                    std::fill(wide.begin(), wide.end(), 0.0f);
                    for (int64_t k = 0; k < K; k++)
                        for (int64_t t = 0; t < out_of[b]; t++) wide[k * l.wide() + l.pad() + t * stride] = rows[k * l.wide() + l.pad() + t];
                }
                float* to = by_x + b * C * Ti;
                convolve(weights.data(), (stride > 1 ? wide : rows).data(), back, to, C, Ti, into[b]);
                for (int64_t c = 0; c < C; c++) {
                    if (sums_before) sums_of(to + c * Ti, x + (b * C + c) * Ti, before, slopes[c], C, c, into[b], sums_before + (b * C + c) * 3);
                    else std::fill(to + c * Ti + into[b], to + (c + 1) * Ti, 0.0f);
                }
            }
    }
    for (int64_t k = 0; k < K; k++)
        for (int64_t i = 0; i < C * taps; i++) {
            float sum = 0;
            for (int64_t part = 0; part < PARTS; part++) sum += by_weights[part * size + i * filters + k];
            by_w[k * C * taps + i] = sum;
        }
}

}
