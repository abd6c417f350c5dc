"""Direction numbers of Sobol sequences, by S. Joe and F. Y. Kuo (new-joe-kuo-6): the first 337 of 21201 dimensions.

All of them would be a third of the wheel; SciPy comes with the same table, which is read where it is there.

Dimension 0 is the van der Corput sequence. Each other one has a primitive polynomial over GF(2) of degree s and s
numbers m[1] to m[s], m[i] odd and below 2**i. _PACKED has, as one string of bits in base 85, dimension by dimension in
the order of the degrees: the s - 1 inner coefficients, the highest first, then (m[i] - 1) / 2 in i - 1 bits.
"""

from __future__ import annotations

BITS = 30
COUNTS = (1, 1, 2, 2, 6, 6, 18, 16, 48, 60, 176)  # polynomials of degree 1, 2, ...
DIMENSIONS = 1 + sum(COUNTS)
ALL_DIMENSIONS = 21201


def _read(dimension: int) -> list[tuple[int, int, list[int]]]:
    """(degree, inner coefficients, m) of dimensions 1 to dimension - 1."""
    import base64

    packed = base64.b85decode("".join(_PACKED.split()))
    bits, at = bin(int.from_bytes(b"\1" + packed, "big"))[3:], 0
    found: list[tuple[int, int, list[int]]] = []
    for degree, count in enumerate(COUNTS, 1):
        for _ in range(min(count, dimension - 1 - len(found))):
            inner = int(bits[at : at + degree - 1] or "0", 2)
            at += degree - 1
            m = [1]
            for i in range(1, degree):
                m.append(2 * int(bits[at : at + i], 2) + 1)
                at += i
            found.append((degree, inner, m))
    return found


def _read_scipy(dimension: int) -> list[tuple[int, int, list[int]]]:
    """The same from SciPy's file, without importing SciPy."""
    import importlib.util
    import pathlib

    spec = importlib.util.find_spec("scipy")
    path = pathlib.Path(spec.origin if spec and spec.origin else "").parent / "stats" / "_sobol_direction_numbers.npz"
    if not path.is_file():
        raise NotImplementedError(
            f"SobolEngine: the direction numbers of more than {DIMENSIONS} dimensions come from SciPy, which is not "
            f"installed; install scipy (in Pyodide: await pyodide.loadPackage('scipy')). Got dimension={dimension}"
        )
    import numpy

    with numpy.load(path) as table:
        polynomials, numbers = table["poly"][1:dimension].tolist(), table["vinit"][1:dimension].tolist()
    degrees = [polynomial.bit_length() - 1 for polynomial in polynomials]
    return [(s, p >> 1 & (1 << s - 1) - 1, m[:s]) for s, p, m in zip(degrees, polynomials, numbers, strict=True)]


def directions(dimension: int) -> list[list[int]]:
    """The direction numbers of each dimension: BITS integers, the first with its highest bit at place BITS - 1."""
    rows = [[1 << (BITS - 1 - i) for i in range(BITS)]]
    for degree, inner, m in _read(dimension) if dimension <= DIMENSIONS else _read_scipy(dimension):
        for i in range(degree, BITS):
            value = m[i - degree] ^ m[i - degree] << degree
            for k in range(1, degree):
                if inner >> (degree - 1 - k) & 1:
                    value ^= m[i - k] << k
            m.append(value)
        rows.append([value << (BITS - 1 - i) for i, value in enumerate(m)])
    return rows


_PACKED = """
*#b=1l7vW|*|Y;eUdzK_;iJ-_HsWKLtvfR*Pl5K&n4dA?9OH}RXbfoSk~*gr`1MtqJmw;3pLh}k9Wq^%%yN|NU~aBkq-6<eEz-CR!(s1xalFUX4$
vJxnU6(x{=UGps#(4!munbB@6l*1$DDi#*+C@-GespwPI2f$%aG}EPL4OPKE~7`Uxy4J-CVJsxI#$z#lQDgqL!^f2+NSYZt&Yg8w4T{3MN=8v1qX
8v-uenQ2Rx)#ZlOEwJ%<5pgZ$U{WQdGHwMqX@{_f^?Tk=9J1&~I1Tkx0e3D9aM&f!E6rj`rK~j3h2j10u5}?WjTRY4*|266h_ANhWBopiRW`ynOd
5~>ZHPydYpn$_@tb9B<$T0|+PPAuNih<hy@re9)+Etj5L;~l;se+4xhEJUo%cN%tdbhqZhpo|Y$<vz#F5e^3wJOD<Vq0g-u)N~A<qUY<3;E`0tOv
pXAta03dETc6@!DovR2_ZFN+sd0<E<K**-ldx19(p6|2T!_uBH=mDQxVzT3d(D9B!cg@AOGTv!>75`ba%V0!~6pi+hwB(M|v8Z!nx_I{r3F!p9}U
;c9yseI^kICBSc#^fHt6A_710%Cq8#t~9|f@KiBJNWe~i5ZA!IHtIw3nxX1lvgyw^Cy8J#5kI!>eSU+f4JHyZjZ6e)-+Yb<s*)uCKCNvNOmN(WcM
XL+9UDcO-X#i=m7S*%m3_6X2!V21@qC6dTy=zOUgo!C<~>TKOsaBOXuk48$2e$c3pl-GrN`M|>9jIum1R%QL0O-D!umpi_<o$TD>>?75@!bT?qWz
(fbNBEAYxNg{?oT<jk6!+V8#kV^1~*h;z>G9$KmZ3C8h7~FQD<B5pDwbz%G7%Y(`D8`XpwSe&Qx;ROZM_Pyw(Fh=8|yI?~?b8Vy#veikK4KI<>lu
aj4Qp~arVI3MRX9l<?$+s~|lVNoQU%d?jdJJZMX(Ui#t$u5^o*e2hWQf*Lx&9OzZb(7y6hQ1}(ugXvL`n!Ep+39S4t~SZ-V<P}LGV3a7HR<eIBj<
f^SK8%I(NR4A%g;sp%eKFPm`7uoX8^C<aP;6pbpd{g>!^0|7{OJ|8**7SE<m!%gCXR_tiX-{^g7qO6KG=eKuy}l%^Wf}LOSB@gcuxml<<wx_XQ7Z
Sgo1h2o8wRjzh3D=L-a)v>bDly|u!9_~5^y?|*Sp1}4}vMc_cN;EdvkdN#yob20A2jxg3VGiO#4VvWKa32i?2y2o0MXPc#VwcZ}bQFWV3g&5mI*W
@Oo0@|+P8-%QUlcoHr6LtV0y=vh6k^<x==xzp-N)zs6Ox#o0CweWAPqv?a6U+ox8??pDN+wxq!=oaYMJFiBMr#{T0-&aMc_NA5>06I*VG4H`47sb
7c-Q)!`dxm4DH!*HSTFW|AiI}hH<%;Ef4)Lkh757+Wn(2tWTvmrGNlk)iSt|AHcKL)YZ<xxwye8@4$R|+m{ibG_{4TKrJ<K4M@u}S!9jphHp3rrD
fmsBTZ+&F7hTmGN*~A=3qB&LD^ipv)J8#y6k8G%1y_)V990PvWf|5a_gUJKNUC!`l*>L$8{M(IuvL7f$jufrzLlv{$$}k6oG!x&`(#)cUN0`?3JQ
(r3_){Rkf6%?XDvp>PPim(;)<IDshS?grnit7RYT9?N$VLMt17KqKt_!s6{L_keX(BTt5Eg&n2cSiwY_a8g<tHXg6S5djpWhW4R=Mm_tqGm$h=<7
VWt<Ad0%(BqSt=<KQKDbNGI^iOjt*q{0Iwv{H#ObbLMG@&$eaBVRe5wzY{*CH_hlmwQ-<H6RR2f^|aEHECrISuw82iWz@Pv&<Qo;<0k!0*@hb<A<
dV6On*(io$(p^b#IpY^L>@>6)8)H_6j`jt93EOrkN=a^#(%Zh@gNFDv=9vk&_Ts_2gf=`!On$>4}Y<xC<#jVM=dq@$<)Rao0bGlZ_-2D2u}*+dr(
3UQ#4A?s-oFmCZXo`R03&JiGt6eY7<!9~pp^K)l(c-T%3sAY(%^ToCix5M`6niPVIIcs-ASG|s1~{8kAW)ix^cUN8zm)FTah*BZ=}wW6@WIF3;~a
|n#*3CK-FS1s`oUZhRy-rsx&r*dDAF>W7~Joz<cD24-v%v_v5&}wlFU~*Z<Mvj66C2=p!>1sL{5&oFo@pCaByqnC*;!Yna*EeRGsK2Q11}n2sxcm
gL;g$)-FD$v(w_nugDlG1EAd9klRcpUVm@Ml+v<laiUr21B#T9)ADpzk&*(A_WgiB><Hp~w1goJ)nv?#i*3!wpugIQRB(~`dZM-zyqfy$U7ssNz^
qk940RtAxoT3UcItW$t9iC-%-R`=YhxbF{JYlzQ#wvcU)HcPRjc0lU18$Lk&VhJNr4X8@c1CnSs3f)6(wG7skb8l;rUj0i$U%3~cUG}`$x!rb%<(
oKZJ#N~RnNZ^7LbrhrZ{sN1@$1g8gXswsT5a{S&90=w7i$7r(ST;Ow}*!?618^W_BF&j!Dxu1uWaIe{YKCm{64W)!UyzFewaATMWif!&U`#^)AwW
f4qZ-0yos!d+o(e&@FL5H#-s6-XIe^W+Oa#!^LOlv?o-w06l7q7lVCpc-sS?#7M>qD^-2?$d4v`H0Q%OpaC!T7l3iJuD(T|WPYldIm~3yYsFg5r&
g?Nc*K8S>d2-DLZ2X+Hm<EQ$w&qTjlt_9_+scML6lAi<-SN%Y$(TGY*9wkjQ~5lmUyNk@NuEhs7tC>a(qp-=o94>Z&STsy<MqO=+lBA*w!2gJHwd
x5=)JTc8QuJXA0Frjs=^ff%zuIo;=$fLkI%>?izqQoN@L~1d`;{EH2w2!)$z%7Dj|AjC-P0gR4P4gN2_6SXPKVXDwx*_>kE&Y$%i6dE92kOsYI!~
|7c_K=MS=y;S{C%W=gse8BN0
"""
