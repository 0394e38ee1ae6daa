// SPDX-FileCopyrightText: 2026 RippleKV contributors
// SPDX-License-Identifier: MIT
//
// The few vector operations the kernels are written in, for the instruction set this file is compiled for: AVX-512 with
// VNNI, AVX2 with FMA and F16C, or the compiler's own 16-byte vectors (SSE2, NEON, ...). Built on the vector extensions
// of GCC and clang, with intrinsics where a compiler would not find the instruction. Internal linkage throughout, so
// that code compiled for a better processor is never linked into a kernel for a lesser one.
#pragma once

#include <cstddef>
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define RKV_INLINE static inline __attribute__((always_inline))

namespace ripplekv {
namespace {

#if defined(__AVX512VNNI__)
constexpr size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr size_t kVectorBytes = 32;
#else
constexpr size_t kVectorBytes = 16;
#endif
constexpr size_t kLanes = kVectorBytes / 4;
using F = float __attribute__((vector_size(kVectorBytes)));
using I = int32_t __attribute__((vector_size(kVectorBytes)));

template <class V, class T>
RKV_INLINE V load_as(const T* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof(v));
  return v;
}
RKV_INLINE F load(const float* from) { return load_as<F>(from); }
RKV_INLINE I load(const int32_t* from) { return load_as<I>(from); }
RKV_INLINE void store(F v, float* to) { __builtin_memcpy(to, &v, sizeof(v)); }
RKV_INLINE void store(I v, int32_t* to) { __builtin_memcpy(to, &v, sizeof(v)); }
RKV_INLINE F set(float x) { return x - F{}; }
RKV_INLINE I set(int32_t x) { return x - I{}; }
RKV_INLINE F to_float(I v) { return __builtin_convertvector(v, F); }
RKV_INLINE I bits(F v) { return reinterpret_cast<I>(v); }
RKV_INLINE F from_bits(I v) { return reinterpret_cast<F>(v); }

RKV_INLINE float f16_value(uint16_t half) {
#if defined(__F16C__)
  return _cvtsh_ss(half);
#else
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t magnitude = half & 0x7fffU;
  uint32_t word = (magnitude << 13) + 0x38000000U;                   // the exponent's bias is 127 instead of 15
  if (magnitude >= 0x7c00U) word = (magnitude << 13) | 0x7f800000U;  // infinite or NaN
  float value;
  if (magnitude < 0x0400U) {  // below 2^-14: steps of 2^-24
    value = static_cast<float>(magnitude) * 0x1p-24F;
    __builtin_memcpy(&word, &value, sizeof(word));
  }
  word |= sign;
  __builtin_memcpy(&value, &word, sizeof(value));
  return value;
#endif
}

#if defined(__AVX512VNNI__)
RKV_INLINE F mul_add(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
RKV_INLINE F max(F a, F b) { return _mm512_max_ps(a, b); }
RKV_INLINE F sqrt(F a) { return _mm512_sqrt_ps(a); }
RKV_INLINE I nearest(F a) { return reinterpret_cast<I>(_mm512_cvtps_epi32(a)); }
RKV_INLINE F load_f16(const uint16_t* from) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
}
RKV_INLINE I load_i8(const int8_t* from) {
  return reinterpret_cast<I>(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
RKV_INLINE I load_u8(const uint8_t* from) {
  return reinterpret_cast<I>(_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
}
// The words at from, from + stride, ... (bytes), and the f16 in the low half of each.
RKV_INLINE I load_strided(const uint8_t* from, int32_t stride) {
  const I steps = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  return reinterpret_cast<I>(_mm512_i32gather_epi32(reinterpret_cast<__m512i>(steps * stride), from, 1));
}
RKV_INLINE F f16_of_low(I words) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(words))); }
RKV_INLINE void store_i16(I v, int16_t* to) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtsepi32_epi16(reinterpret_cast<__m512i>(v)));
}
// sum + a.even * b.even + a.odd * b.odd of the 16-bit halves of each lane
RKV_INLINE I add_dot(I sum, I a, I b) {
  return reinterpret_cast<I>(
      _mm512_dpwssd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
}
// The even lanes of a and then those of b; the odd ones.
RKV_INLINE F even_lanes(F a, F b) {
  const I index = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30};
  return _mm512_permutex2var_ps(a, reinterpret_cast<__m512i>(index), b);
}
RKV_INLINE F odd_lanes(F a, F b) {
  const I index = {1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
  return _mm512_permutex2var_ps(a, reinterpret_cast<__m512i>(index), b);
}
#elif defined(__AVX2__)
RKV_INLINE F mul_add(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
RKV_INLINE F max(F a, F b) { return _mm256_max_ps(a, b); }
RKV_INLINE F sqrt(F a) { return _mm256_sqrt_ps(a); }
RKV_INLINE I nearest(F a) { return reinterpret_cast<I>(_mm256_cvtps_epi32(a)); }
RKV_INLINE F load_f16(const uint16_t* from) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
}
RKV_INLINE I load_i8(const int8_t* from) {
  return reinterpret_cast<I>(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
RKV_INLINE I load_u8(const uint8_t* from) {
  return reinterpret_cast<I>(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
}
RKV_INLINE I load_strided(const uint8_t* from, int32_t stride) {
  const I steps = {0, 1, 2, 3, 4, 5, 6, 7};
  return reinterpret_cast<I>(
      _mm256_i32gather_epi32(reinterpret_cast<const int*>(from), reinterpret_cast<__m256i>(steps * stride), 1));
}
RKV_INLINE F f16_of_low(I words) {
  const __m256i low = reinterpret_cast<__m256i>(words & 0xffff);
  return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}
RKV_INLINE void store_i16(I v, int16_t* to) {
  const __m256i x = reinterpret_cast<__m256i>(v);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to),
                   _mm_packs_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1)));
}
RKV_INLINE I add_dot(I sum, I a, I b) {
  return sum + reinterpret_cast<I>(_mm256_madd_epi16(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
}
RKV_INLINE F even_lanes(F a, F b) {
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0x88)), 0xd8));
}
RKV_INLINE F odd_lanes(F a, F b) {
  return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(_mm256_shuffle_ps(a, b, 0xdd)), 0xd8));
}
#else
RKV_INLINE F mul_add(F a, F b, F c) { return a * b + c; }
RKV_INLINE F max(F a, F b) { return a > b ? a : b; }
RKV_INLINE F sqrt(F a) {
  for (size_t i = 0; i < kLanes; ++i) a[i] = __builtin_sqrtf(a[i]);
  return a;
}
// |a| < 2^22: adding 1.5 * 2^23 leaves no bit for a fraction.
RKV_INLINE I nearest(F a) { return bits(a + 0x1.8p23F) - 0x4b400000; }
RKV_INLINE F load_f16(const uint16_t* from) {
  F v;
  for (size_t i = 0; i < kLanes; ++i) v[i] = f16_value(from[i]);
  return v;
}
RKV_INLINE I load_i8(const int8_t* from) {
  I v;
  for (size_t i = 0; i < kLanes; ++i) v[i] = from[i];
  return v;
}
RKV_INLINE I load_u8(const uint8_t* from) {
  I v;
  for (size_t i = 0; i < kLanes; ++i) v[i] = from[i];
  return v;
}
RKV_INLINE I load_strided(const uint8_t* from, int32_t stride) {
  I v;
  for (size_t i = 0; i < kLanes; ++i) {
    int32_t word;
    __builtin_memcpy(&word, from + i * static_cast<size_t>(stride), sizeof(word));
    v[i] = word;
  }
  return v;
}
RKV_INLINE F f16_of_low(I words) {
  F v;
  for (size_t i = 0; i < kLanes; ++i) v[i] = f16_value(static_cast<uint16_t>(words[i]));
  return v;
}
RKV_INLINE void store_i16(I v, int16_t* to) {
  for (size_t i = 0; i < kLanes; ++i) {
    to[i] = static_cast<int16_t>(v[i] > 32767 ? 32767 : v[i] < -32768 ? -32768 : v[i]);
  }
}
RKV_INLINE I add_dot(I sum, I a, I b) { return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16); }
RKV_INLINE F even_lanes(F a, F b) { return F{a[0], a[2], b[0], b[2]}; }
RKV_INLINE F odd_lanes(F a, F b) { return F{a[1], a[3], b[1], b[3]}; }
#endif

// Lane i: the sum, or the largest, of all lanes of v[i]. v: kLanes vectors, used up.
RKV_INLINE F sums_of(F* v) {
  for (size_t n = kLanes; n > 1; n /= 2) {
    for (size_t i = 0; i < n / 2; ++i) v[i] = even_lanes(v[2 * i], v[2 * i + 1]) + odd_lanes(v[2 * i], v[2 * i + 1]);
  }
  return v[0];
}
RKV_INLINE F largest_of_each(F* v) {
  for (size_t n = kLanes; n > 1; n /= 2) {
    for (size_t i = 0; i < n / 2; ++i)
      v[i] = max(even_lanes(v[2 * i], v[2 * i + 1]), odd_lanes(v[2 * i], v[2 * i + 1]));
  }
  return v[0];
}

// Lane i of vector j becomes lane j of vector i.
RKV_INLINE void transpose(F (&v)[kLanes]) {
#pragma GCC unroll 4
  for (size_t step = 1; step < kLanes; step *= 2) {
    F apart[kLanes];
#pragma GCC unroll 8
    for (size_t i = 0; i < kLanes / 2; ++i) {
      apart[i] = even_lanes(v[2 * i], v[2 * i + 1]);
      apart[i + kLanes / 2] = odd_lanes(v[2 * i], v[2 * i + 1]);
    }
#pragma GCC unroll 16
    for (size_t i = 0; i < kLanes; ++i) v[i] = apart[i];
  }
}

RKV_INLINE float largest_of(F v) {
  float largest = v[0];
  for (size_t i = 1; i < kLanes; ++i) largest = v[i] > largest ? v[i] : largest;
  return largest;
}

// 2^x for x <= 126; what is under 2^-120 becomes 2^-120. Relative error below 3e-7 (kExact) or 8e-5.
enum class Exp2 { kExact, kFast };
template <Exp2 precision>
RKV_INLINE F exp2(F x) {
  x = max(set(-120.0F), x);  // in this order what is not a number stays none
  const I whole = nearest(x);
  const F f = x - to_float(whole);  // [-1/2, 1/2]
  F y;
  if constexpr (precision == Exp2::kExact) {  // Taylor series
    y = mul_add(set(1.5403530e-4F), f, set(1.3333558e-3F));
    y = mul_add(y, f, set(9.6181291e-3F));
    y = mul_add(y, f, set(5.5504109e-2F));
    y = mul_add(y, f, set(0.24022651F));
    y = mul_add(y, f, set(0.69314718F));
    y = mul_add(y, f, set(1.0F));
  } else {  // least relative error
    y = mul_add(set(5.5171669e-2F), f, set(0.24261112F));
    y = mul_add(y, f, set(0.69326099F));
    y = mul_add(y, f, set(0.99992807F));
  }
  return from_bits(bits(y) + (whole << 23));
}

}  // namespace
}  // namespace ripplekv
