/** torch.special's functions of one operand (float results), and its polynomials (x, degree). */
import { float, type OpDef } from "./op_def";

const POLYNOMIALS = [
  "chebyshev_polynomial_t",
  "chebyshev_polynomial_u",
  "chebyshev_polynomial_v",
  "chebyshev_polynomial_w",
  "hermite_polynomial_h",
  "hermite_polynomial_he",
  "laguerre_polynomial_l",
  "legendre_polynomial_p",
] as const;
const SHIFTED = [
  "shifted_chebyshev_polynomial_t",
  "shifted_chebyshev_polynomial_u",
  "shifted_chebyshev_polynomial_v",
  "shifted_chebyshev_polynomial_w",
] as const;

const FUNCTIONS = {
  i0e: "tl_i0e(x)",
  i1: "tl_i1(x)",
  i1e: "tl_i1e(x)",
  ndtri: "tl_ndtri(x)",
  log_ndtr: "tl_log_ndtr(x)",
  erfcx: "tl_erfcx(x)",
  entr: "tl_entr(x)",
  bessel_j0: "tl_j0(x)",
  bessel_j1: "tl_j1(x)",
  bessel_y0: "tl_y0(x)",
  bessel_y1: "tl_y1(x)",
  modified_bessel_i0: "tl_i0(x)",
  modified_bessel_i1: "tl_i1(x)",
  modified_bessel_k0: "tl_k0(x)",
  modified_bessel_k1: "tl_k1(x)",
  scaled_modified_bessel_k0: "tl_k0e(x)",
  scaled_modified_bessel_k1: "tl_k1e(x)",
  spherical_bessel_j0: "tl_spherical_j0(x)",
  airy_ai: "tl_airy_ai(x)",
} as const;

type SpecialName = `special_${keyof typeof FUNCTIONS | (typeof POLYNOMIALS)[number] | (typeof SHIFTED)[number]}`;

export const SPECIALS = Object.fromEntries([
  ...Object.entries(FUNCTIONS).map(([name, f]) => [`special_${name}`, float(f)]),
  ...POLYNOMIALS.map((name, kind) => [`special_${name}`, float(`tl_polynomial(${kind}, x, y)`, 2)]),
  ...SHIFTED.map((name, kind) => [`special_${name}`, float(`tl_polynomial(${kind}, 2.0 * x - 1.0, y)`, 2)]),
]) as { readonly [K in SpecialName]: OpDef };
