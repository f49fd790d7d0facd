//! Float formats, rounding to them, and the mathematics that the 16-bit types lack.

use crate::{bf16, f16};

/// The layout of a binary floating-point type's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FloatFormat {
    /// Bits of the exponent.
    pub exponent_bits: u32,
    /// Bits of the fraction, without the leading one.
    pub fraction_bits: u32,
}

impl FloatFormat {
    /// The sign bit.
    pub const fn sign(self) -> u64 {
        1 << (self.exponent_bits + self.fraction_bits)
    }

    /// The bits of infinity: the exponent's.
    pub const fn infinity(self) -> u64 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// The bits of the quiet NaN without sign and payload.
    pub const fn quiet_nan(self) -> u64 {
        self.infinity() | 1 << (self.fraction_bits - 1)
    }

    /// The bits of the least normal number.
    pub const fn least_normal(self) -> u64 {
        1 << self.fraction_bits
    }

    /// The bits of one.
    pub const fn one(self) -> u64 {
        (self.bias() as u64) << self.fraction_bits
    }

    /// What the exponent's bits are above the exponent.
    pub const fn bias(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    /// The bits below the sign.
    pub const fn magnitude(self, bits: u64) -> u64 {
        bits & (self.sign() - 1)
    }

    /// Whether the bits are a NaN.
    pub const fn is_nan(self, bits: u64) -> bool {
        self.magnitude(bits) > self.infinity()
    }

    /// Whether the bits are an infinity.
    pub const fn is_infinite(self, bits: u64) -> bool {
        self.magnitude(bits) == self.infinity()
    }

    /// Whether the bits are a subnormal number.
    pub const fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = self.magnitude(bits);
        magnitude != 0 && magnitude < self.least_normal()
    }

    /// The number with these bits, which every f64 can be.
    pub fn to_f64(self, bits: u64) -> f64 {
        if self.fraction_bits == 52 {
            return f64::from_bits(bits);
        }
        let negative = bits & self.sign() != 0;
        let magnitude = self.magnitude(bits);
        let fraction = magnitude & (self.least_normal() - 1);
        let exponent = (magnitude >> self.fraction_bits) as i32;
        let x = if magnitude > self.infinity() {
            f64::NAN
        } else if magnitude == self.infinity() {
            f64::INFINITY
        } else if exponent == 0 {
            fraction as f64 * exp2i(1 - self.bias() - self.fraction_bits as i32)
        } else {
            (fraction | self.least_normal()) as f64
                * exp2i(exponent - self.bias() - self.fraction_bits as i32)
        };
        if negative { -x } else { x }
    }

    /// The nearest number's bits, ties to even; too large a number gives infinity.
    pub fn from_f64(self, x: f64) -> u64 {
        let sign = if x.is_sign_negative() { self.sign() } else { 0 };
        if self.fraction_bits == 52 {
            x.to_bits()
        } else if x.is_nan() {
            self.quiet_nan() | sign
        } else if x.is_infinite() {
            self.infinity() | sign
        } else {
            let bits = x.to_bits();
            let (fraction, exponent) = (bits & ((1 << 52) - 1), (bits >> 52 & 0x7FF) as i32);
            let significand = if exponent == 0 { fraction } else { fraction | 1 << 52 };
            self.round(x.is_sign_negative(), u128::from(significand), exponent.max(1) - 1075)
        }
    }

    /// The bits of `significand × 2^exponent`, rounded to nearest, ties to even.
    pub fn round(self, negative: bool, significand: u128, exponent: i32) -> u64 {
        let sign = if negative { self.sign() } else { 0 };
        if significand == 0 {
            return sign;
        }
        let leading = 127 - significand.leading_zeros() as i32 + exponent;
        let least = 1 - self.bias();
        // The weight of the result's last bit.
        let last = leading.max(least) - self.fraction_bits as i32;
        let kept = match last - exponent {
            drop @ 1..=127 => {
                let (kept, rest) = (significand >> drop, significand & ((1 << drop) - 1));
                let half = 1 << (drop - 1);
                kept + u128::from(rest > half || (rest == half && kept & 1 == 1))
            }
            drop if drop > 127 => 0,
            raise => significand << -raise,
        };
        // A significand that rounded up to the next power of two carries into the exponent.
        let biased = (leading.max(least) - least) as u64;
        let bits = (biased << self.fraction_bits).saturating_add(kept as u64);
        sign | bits.min(self.infinity())
    }
}

/// 2^n for an exponent of a normal f64.
fn exp2i(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// A float whose real functions are those of f64, rounded once more.
pub(crate) trait Real: Copy {
    /// The number, which every f64 can be.
    fn to_real(self) -> f64;
    /// The nearest number.
    fn from_real(x: f64) -> Self;
}

/// A function on real numbers.
pub(crate) fn real<T: Real>(a: T, f: impl Fn(f64) -> f64) -> T {
    T::from_real(f(a.to_real()))
}

/// The inverse hyperbolic cosine, whose form in the standard library loses half of the bits near 1.
pub(crate) fn acosh(x: f64) -> f64 {
    if x < 1.0 {
        f64::NAN
    } else if x > 1e8 {
        x.ln() + std::f64::consts::LN_2
    } else {
        let above = x - 1.0;
        (above + (2.0 * above + above * above).sqrt()).ln_1p()
    }
}

/// The inverse hyperbolic sine, which in the standard library overflows for large numbers.
pub(crate) fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let area = if a > 1e8 {
        a.ln() + std::f64::consts::LN_2
    } else {
        (a + a * a / (1.0 + (a * a + 1.0).sqrt())).ln_1p()
    };
    area.copysign(x)
}

/// A function on two real numbers.
pub(crate) fn real2<T: Real>(a: T, b: T, f: impl Fn(f64, f64) -> f64) -> T {
    T::from_real(f(a.to_real(), b.to_real()))
}

impl Real for f64 {
    fn to_real(self) -> f64 {
        self
    }
    fn from_real(x: f64) -> Self {
        x
    }
}

impl Real for f32 {
    fn to_real(self) -> f64 {
        f64::from(self)
    }
    fn from_real(x: f64) -> Self {
        x as f32
    }
}

macro_rules! halves {
    ($($ty:ident $variant:ident)*) => {$(
        impl Real for $ty {
            fn to_real(self) -> f64 {
                f64::from(self.to_f32())
            }
            fn from_real(x: f64) -> Self {
                const FORMAT: FloatFormat = match crate::DataType::$variant.float_format() {
                    Some(format) => format,
                    None => FloatFormat { exponent_bits: 0, fraction_bits: 0 },
                };
                Self::from_bits(FORMAT.from_f64(x) as u16)
            }
        }
        impl Half for $ty {}
    )*};
}

halves! { f16 F16 bf16 BF16 }

/// The methods that f32 and f64 have and the 16-bit types lack: each result is rounded once.
pub(crate) trait Half: Real {
    fn abs(self) -> Self {
        real(self, f64::abs)
    }
    fn floor(self) -> Self {
        real(self, f64::floor)
    }
    fn ceil(self) -> Self {
        real(self, f64::ceil)
    }
    fn trunc(self) -> Self {
        real(self, f64::trunc)
    }
    fn round_ties_even(self) -> Self {
        real(self, f64::round_ties_even)
    }
    /// The root of a number of at most 11 bits is no tie, so that rounding it to f64 first is harmless.
    fn sqrt(self) -> Self {
        real(self, f64::sqrt)
    }
    /// The product is exact in f64; the sum is rounded to odd, and so once.
    fn mul_add(self, b: Self, c: Self) -> Self {
        Self::from_real(add_to_odd(self.to_real() * b.to_real(), c.to_real()))
    }
}

/// The sum, exact or the one of its two neighbours whose last bit is one.
fn add_to_odd(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let virtual_b = sum - a;
    let error = (a - (sum - virtual_b)) + (b - virtual_b);
    if error == 0.0 || !sum.is_finite() || !error.is_finite() || sum.to_bits() & 1 == 1 {
        return sum;
    }
    let away = (error > 0.0) == (sum > 0.0);
    f64::from_bits(if away { sum.to_bits() + 1 } else { sum.to_bits() - 1 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const F16: FloatFormat = FloatFormat { exponent_bits: 5, fraction_bits: 10 };
    const F32: FloatFormat = FloatFormat { exponent_bits: 8, fraction_bits: 23 };

    #[test]
    fn rounding_goes_to_the_nearest_and_ties_to_even() {
        // 65504 is the greatest f16, and 65520 the tie above it; 2^-25 is half of the least subnormal.
        for (x, bits) in [
            (1.0, 0x3C00),
            (65504.0, 0x7BFF),
            (65519.99, 0x7BFF),
            (65520.0, 0x7C00),
            (-1e300, 0xFC00),
            (2f64.powi(-24), 1),
            (2f64.powi(-25), 0),
            (2f64.powi(-25) * 1.000_001, 1),
            (3.0 * 2f64.powi(-25), 2),
            (1.0 + 2f64.powi(-11), 0x3C00),
            (1.0 + 2f64.powi(-11) + 2f64.powi(-50), 0x3C01),
            (1.0 + 3.0 * 2f64.powi(-11), 0x3C02),
            (2.0 - 2f64.powi(-12), 0x4000),
            (2f64.powi(-14) - 2f64.powi(-26), 0x0400),
            (-0.0, 0x8000),
        ] {
            assert_eq!(F16.from_f64(x), bits, "{x}");
        }
        assert!(F16.is_nan(F16.from_f64(f64::NAN)));
        // 2^64 - 1 as an f16 is infinite, 2049 a tie.
        assert_eq!(F16.round(false, u128::from(u64::MAX), 0), 0x7C00);
        assert_eq!(F16.round(true, 2049, 0), 0xE800);
    }

    #[test]
    fn every_half_is_the_f64_that_it_widens_to() {
        for bits in 0..=u16::MAX {
            let wide = F16.to_f64(u64::from(bits));
            let half = f16::from_bits(bits);
            assert!(wide == half.to_f64() || wide.is_nan() && half.is_nan(), "{bits:#x}");
            if !wide.is_nan() {
                assert_eq!(F16.from_f64(wide), u64::from(bits));
                assert_eq!(F32.from_f64(wide), u64::from((wide as f32).to_bits()));
            }
        }
    }

    #[test]
    fn fused_multiply_add_of_halves_rounds_once() {
        // (1 + 2^-10) * (1 + 2^-10) = 1 + 2^-9 + 2^-20: with -2^-24 · 1.5 below a tie of nothing, so the
        // sum with 2^-11 is a tie but for 2^-20, which decides it.
        let a = f16::from_bits(0x3C01);
        let c = f16::from_real(2f64.powi(-11));
        assert_eq!(a.mul_add(a, c).to_bits(), 0x3C03);
        // Without the product's last bit the tie goes to even.
        let one = f16::ONE;
        assert_eq!(f16::from_bits(0x3C02).mul_add(one, c).to_bits(), 0x3C02);
        assert!(f16::INFINITY.mul_add(f16::ZERO, one).is_nan());
        assert_eq!(bf16::MAX.mul_add(bf16::from_f32(2.0), -bf16::MAX), bf16::MAX);
    }
}
