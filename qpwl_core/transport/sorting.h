// Order statistics: of many short rows at once by a network of comparisons, of any row by buckets.

typedef uint32_t U __attribute__((vector_size(4 * LANES), may_alias));

static inline void in_order(uint64_t& x, uint64_t& y) {
    const uint64_t less = x < y ? x : y, more = x < y ? y : x;
    x = less, y = more;
}

// Order statistics of one row at a time. Samples go into buckets of equal width, four buckets a sample, so that most hold
// few; only buckets in which a wanted rank falls are then sorted. All is written so that it takes no branch that
// depends on the samples: a wrongly foretold one costs as much as ten samples do.
struct Row {
    static constexpr int FEW = 4;                 // samples that a network sorts, whatever they are
    static constexpr int64_t MOST = 1 << 12;      // buckets: more would no longer fit the first-level cache
    std::vector<uint32_t> items, ends, bucket, keys;   // places, bucket after bucket; where each bucket ends; of each sample
    std::vector<uint64_t> many;                   // a bucket of more than a few, in order
    int64_t count = 0, sorted = -1;               // samples of this row; which bucket that is
    explicit Row(int64_t T) : items(T), ends(std::min(4 * T, MOST) + 1 + LANES), bucket(T), keys(T) {}

    bool fill(const float* x, int64_t length);                                     // false where a sample is not finite
    uint32_t place(int64_t rank);                                                  // of the sample with this rank
    // A sample and its place, in one number that sorts by value, then by place: ordering it is a stable sort.
    uint64_t item(int64_t i) const { return (uint64_t)keys[items[i]] << 32 | items[i]; }
};

static inline I key_of(F x) {                                      // sorts as x does, read without a sign
    const I bits = (I)(x + 0.0f);                                  // -0 is 0
    return bits ^ (bits >> 31 | INT32_MIN);
}

template <int STEP> static inline I moved(I x) {            // by so many lanes, noughts before them
    I from;
    #pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) from[i] = i < STEP ? LANES + i : i - STEP;
    return __builtin_shuffle(x, I{}, from);
}

// Numbers of samples to where each bucket starts. A vector at a time; beyond the last bucket there are noughts.
static void running_totals(uint32_t* counts, int64_t buckets) {
    int32_t carry = 0;
    for (int64_t j = 0; j < buckets; j += LANES) {
        I here, sum;
        __builtin_memcpy(&here, counts + j, sizeof here);
        sum = here + moved<1>(here), sum += moved<2>(sum);
        if (LANES > 4) sum += moved<4>(sum);
        if (LANES > 8) sum += moved<8>(sum);
        const I starts = sum - here + carry;
        __builtin_memcpy(counts + j, &starts, sizeof starts);
        carry += sum[LANES - 1];
    }
}

bool Row::fill(const float* x, int64_t length) {
    F least = all(x[0]), most = least, odd = F{}, sums = F{}, squares = F{};
    int64_t t = 0;
    for (; t + LANES <= length; t += LANES) {
        const F v = load(x + t), d = v - x[0];
        odd += v * 0.0f, least = smaller(least, v), most = larger(most, v);  // odd: NaN once anything is not finite
        sums += d, squares += d * d;
    }
    const float counted = std::max<int64_t>(t, 1), mean = total(sums) / counted, variance = total(squares) / counted - mean * mean;
    for (; t < length; t++) {
        F v = all(x[t]);
        odd += v * 0.0f, least = smaller(least, v), most = larger(most, v);
    }
    if (any(odd != 0.0f)) return false;
    float low = least[0], high = most[0];
    for (int i = 1; i < LANES; i++) low = std::min(low, least[i]), high = std::max(high, most[i]);

    low *= 0.5f, high *= 0.5f;  // halves, so that no difference overflows
    float few_low = high, few_high = low;  // eight samples tell where most lie: outliers must not crowd all others together
    for (int i = 0; i < 8; i++) {
        const float v = x[i * length / 8] * 0.5f;
        few_low = std::min(few_low, v), few_high = std::max(few_high, v);
    }
    const float few = few_high - few_low;
    if (few > 0) low = std::max(low, few_low - few), high = std::min(high, few_high + few);
    if (variance > 0 && variance < 1e36f) {                                // and nearly all lie within three deviations
        const float centre = 0.5f * (x[0] + mean), wide = 1.5f * std::sqrt(variance);
        low = std::max(low, centre - wide), high = std::min(high, centre + wide);
    }
    const int64_t buckets = std::min(4 * length, MOST);
    const float last = buckets - 1, scale = high - low > 1e-30f ? buckets / (high - low) : 0;
    uint32_t *__restrict in = bucket.data(), *__restrict end = ends.data() + 1, *__restrict item = items.data();
    for (t = 0; t < length; t += LANES) {
        F v = F{};
        const size_t size = 4 * std::min<int64_t>(LANES, length - t);
        if (size == sizeof v) v = load(x + t); else __builtin_memcpy(&v, x + t, size);
        const I b = __builtin_convertvector(smaller(larger((v * 0.5f - low) * scale, F{}), all(last)), I), key = key_of(v);
        if (size == sizeof v) __builtin_memcpy(in + t, &b, sizeof b), __builtin_memcpy(keys.data() + t, &key, sizeof key);
        else __builtin_memcpy(in + t, &b, size), __builtin_memcpy(keys.data() + t, &key, size);
    }
    std::fill(end, end + buckets + LANES, 0);
    for (t = 0; t < length; t++) end[in[t]]++;
    running_totals(end, buckets);
    for (t = 0; t < length; t++) item[end[in[t]]++] = t;
    count = length, sorted = -1;
    return true;
}

constexpr int EIGHT[][2] = {                               // a network that sorts eight
    {0, 2}, {1, 3}, {4, 6}, {5, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}, {2, 4}, {3, 5}, {1, 4},
    {3, 6}, {1, 2}, {3, 4}, {5, 6}};

uint32_t Row::place(int64_t rank) {
    const uint32_t b = bucket[items[rank]];
    const int64_t from = ends[b], to = ends[b + 1];
    if (to - from > FEW && to - from <= 2 * FEW && count >= 2 * FEW) {
        const int64_t first = std::min(from, count - 2 * FEW);
        uint64_t x[2 * FEW];
        for (int i = 0; i < 2 * FEW; i++) x[i] = item(first + i);
        for (const auto& pair : EIGHT) in_order(x[pair[0]], x[pair[1]]);
        return (uint32_t)x[rank - first];
    }
    if (to - from > FEW || count < FEW) {
        if (sorted != b) {
            many.clear();
            for (int64_t i = from; i < to; i++) many.push_back(item(i));
            std::sort(many.begin(), many.end());
            sorted = b;
        }
        return (uint32_t)many[rank - from];
    }
    const int64_t first = std::min(from, count - FEW);     // what lies beside a bucket is larger or smaller: it may be sorted along
    uint64_t x[FEW] = {item(first), item(first + 1), item(first + 2), item(first + 3)};
    in_order(x[0], x[1]), in_order(x[2], x[3]), in_order(x[0], x[2]), in_order(x[1], x[3]), in_order(x[1], x[2]);
    return (uint32_t)x[rank - first];
}

#if defined(__AVX512F__)
static inline U larger(U x, U y) { return (U)_mm512_max_epu32((__m512i)x, (__m512i)y); }
static inline U smaller(U x, U y) { return (U)_mm512_min_epu32((__m512i)x, (__m512i)y); }
#else
static inline U larger(U x, U y) { return x > y ? x : y; }
static inline U smaller(U x, U y) { return x < y ? x : y; }
#endif

// Which two of up to 16 vectors are put in order, one pair after the other.
struct Pairs {
    int count = 0, first[64] = {}, second[64] = {};
    constexpr void add(int i, int j) { first[count] = i, second[count] = j, count++; }
};

constexpr Pairs sorting(int n) {                            // Batcher's odd-even merging: 63 pairs sort 16
    Pairs pairs;
    for (int run = 1; run < n; run *= 2)
        for (int apart = run; apart > 0; apart /= 2)
            for (int j = apart % run; j + apart < n; j += 2 * apart)
                for (int i = j; i < j + apart && i + apart < n; i++)
                    if (i / (2 * run) == (i + apart) / (2 * run)) pairs.add(i, i + apart);
    return pairs;
}

constexpr Pairs halving(int n, bool mirrored) {             // the last layers of a bitonic merge; the first of them mirrored
    Pairs pairs;
    for (int apart = n / 2; apart > 0; apart /= 2)
        for (int i = 0; i < n; i++)
            if (mirrored && apart == n / 2) { if (i < apart) pairs.add(i, n - 1 - i); }
            else if (!(i & apart)) pairs.add(i, i + apart);
    return pairs;
}

template <const Pairs& PAIRS, size_t... I> static inline void ordered(U* x, std::index_sequence<I...>) {
    auto order = [](U& a, U& b) { const U less = smaller(a, b); b = larger(a, b), a = less; };
    (order(x[PAIRS.first[I]], x[PAIRS.second[I]]), ...);
}
template <const Pairs& PAIRS> static inline void ordered(U* x) { ordered<PAIRS>(x, std::make_index_sequence<PAIRS.count>()); }

// Sorts LANES rows side by side: each lane of x is a row, of `size` numbers, a power of two, 16 at least. Comparisons and
// nothing else, the same ones whatever the numbers are, as many of them as the registers hold before they go to the cache.
struct Network {
#if defined(__AVX512F__)
    static constexpr int HELD = 16;                         // vectors in registers at a time
#else
    static constexpr int HELD = 8;
#endif
    static constexpr Pairs SORT = sorting(HELD), FIRST = halving(HELD, true);
    template <int N> static constexpr Pairs REST = halving(N, false);

    template <const Pairs& PAIRS, int N> static inline void pass(U* x, int64_t step) {
        U v[N];
        for (int i = 0; i < N; i++) v[i] = x[i * step];
        ordered<PAIRS>(v);
        for (int i = 0; i < N; i++) x[i * step] = v[i];
    }
    template <int N> static void rest(U* x, int64_t size, int64_t step) {
        for (int64_t block = 0; block < size; block += N * step)
            for (int64_t i = block; i < block + step; i++) pass<REST<N>, N>(x + i, step);
    }
    static void merge(U* x, int64_t size, int64_t run) {    // sorted halves of runs to sorted runs
        int64_t step = run / HELD;
        for (int64_t block = 0; block < size; block += run)
            for (int64_t i = 0; i < step; i++) {
                U v[HELD], *low = x + block + i, *high = x + block + run - 1 - i;
                for (int k = 0; k < HELD / 2; k++) v[k] = low[k * step], v[HELD - 1 - k] = high[-k * step];
                ordered<FIRST>(v);
                for (int k = 0; k < HELD / 2; k++) low[k * step] = v[k], high[-k * step] = v[HELD - 1 - k];
            }
        for (; step >= HELD; step /= HELD) rest<HELD>(x, size, step / HELD);
        if (step == 8) rest<8>(x, size, 1); else if (step == 4) rest<4>(x, size, 1); else if (step == 2) rest<2>(x, size, 1);
    }
    static void sort(U* x, int64_t size) {
        for (int64_t i = 0; i < size; i += HELD) pass<SORT, HELD>(x + i, 1);
        for (int64_t run = 2 * HELD; run <= size; run *= 2) merge(x, size, run);
    }
};

// LANES short rows at a time. A sample and its place are one number of 32 bits: how far it lies from the least to the
// largest sample of its row, rounded down, and behind that its place. Sorted, that is a stable sort of the row, unless
// two different samples were rounded to one number and stood in the wrong order: such a row is known afterwards, and
// left to buckets.
struct Rows {
    static constexpr int64_t LONGEST = LANES > 4 ? 1 << 10 : 1 << 8;   // samples of a row: beyond that, buckets are faster
    std::vector<float> space;
    float* tile;                                  // (T, LANES), a row to a lane; then sorted numbers in its place
    int bits = 8;                                 // that a place takes: 24 are left for the sample, as many as float32 has
    explicit Rows(int64_t T) {
        while (T > 1 << bits) bits++;
        space.resize((LANES << bits) + LANES);
        tile = (float*)(((uintptr_t)space.data() + 4 * LANES - 1) / (4 * LANES) * (4 * LANES));
    }
    uint32_t place(int lane, int64_t rank) const { return ((uint32_t*)tile)[rank * LANES + lane] & ((1 << bits) - 1); }

    // Sort rows of which the first `lengths` samples count. odd: lanes with a sample that is not finite; wrong: lanes
    // that are left to buckets.
    void fill(const float* const* rows, const float* const* next, I lengths, int64_t T, I& odd, I& wrong) {
        tiled(rows, next, tile, T);
        int64_t longest = 0, size = 16;
        for (int i = 0; i < LANES; i++) longest = std::max<int64_t>(longest, lengths[i]);
        while (size < longest) size *= 2;
        F low = load(tile), high = low, sum = F{};
        for (int64_t t = 0; t < longest; t++) {
            const F v = lengths > (int32_t)t ? load(tile + t * LANES) : load(tile);
            low = smaller(low, v), high = larger(high, v), sum += v * 0.0f;            // sum: NaN once anything is not finite
        }
        odd = sum != 0.0f;
        low *= 0.5f, high *= 0.5f;                                                     // halves, so that no difference overflows
        const float last = (1u << (32 - bits)) - 1;
        const F scale = high - low > 1e-30f ? all(last) / (high - low) : F{};
        U* key = (U*)tile;
        for (int64_t t = 0; t < longest; t++) {
            const F v = load(tile + t * LANES) * 0.5f - low;
            const U at = (U)__builtin_convertvector(smaller(v * scale, all(last)), I);
            key[t] = (lengths > (int32_t)t ? at << bits : (U)(I{} - 1) << bits) | (uint32_t)t;   // padding comes last
        }
        for (int64_t t = longest; t < size; t++) key[t] = (U)(I{} - 1);
        Network::sort(key, size);
        wrong = I{};
        for (int64_t t = 1; t < longest; t++) {
            const I alike = ((key[t] ^ key[t - 1]) >> bits == 0) & (lengths > (int32_t)t) & ~odd;
            if (any(alike))
                for (int i = 0; i < LANES; i++)
                    if (alike[i] && rows[i][place(i, t - 1)] > rows[i][place(i, t)]) wrong[i] = -1;
        }
    }
};
