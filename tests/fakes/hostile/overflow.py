"""Texts that are drawn larger than their place, or elsewhere than there: over other people's words, or a button.

None is longer than a short answer may be (500 characters), as each is put there too.
"""

from __future__ import annotations

from tests.fakes.hostile.payload import of

OVERFLOW = of(
    "overflow",
    "be drawn over what stands around it",
    {
        "rule": r"\(\rule{900em}{900em}\)",
        "rule, block": r"\[\rule{900em}{900em}\]",
        "rule, below": r"$$x\rule[-900em]{900em}{900em}$$",
        "kern": r"\(a\kern900em b\) \(a\kern{-900em}b\)",
        "skip": r"\(\hskip-900em XXXXXXXX\) \(\hskip{-90em}XXXXXXXX\) \(\mkern-900mu XXXXXXXX\)",
        "hspace": r"\(\hspace{-90em}XXXXXXXX\) \(\hspace{900em}X\)",
        "many spaces back": r"\(" + r"\!" * 230 + r"XXXXXXXX\)",
        "raisebox": r"\(\raisebox{9em}{XXXX}\) \(\raisebox{-9em}{XXXX}\) \(\raisebox{900em}{X}\)",
        "raise": r"\(\raise 9em {XXXX}\) \(\lower 9em {XXXX}\)",
        "smash": r"\(\smash{\begin{matrix}X\\X\\X\\X\\X\\X\\X\\X\\X\end{matrix}}\)",
        "laps": r"\(\rlap{XXXXXXXX}\llap{XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX}\clap{XXXXXXXXXXX}\)",
        "laps, math": r"\(\mathllap{XXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXXX}\mathrlap{XXXXXXXXXXXX}\)",
        "phantom": r"\(\phantom{\rule{900em}{900em}}X \vphantom{\rule{9em}{900em}}\)",
        "fbox": r"\(\fbox{" + "X" * 220 + r"}\) \(\boxed{" + "X" * 220 + r"}\)",
        "colorbox": r"\(\colorbox{red}{" + "X" * 300 + r"}\) \(\fcolorbox{red}{blue}{\rule{90em}{90em}}\)",
        "genfrac": r"\[\genfrac(]{900pt}{0}{a}{b}\] \[\genfrac(]{20pt}{0}{a}{b}\]",
        "above": r"\[a \above900pt b\]",
        "sizes": r"\(\Huge{\Huge{\Huge{\Huge X}}}\) \({\Huge X {\Huge X}}\)",
        "big": r"\(\Bigg(\Bigg[\Biggl|\)",
        "rows": r"\[\begin{matrix}a\\[900em]b\end{matrix}\] \[\begin{matrix}a\\[-90em]X\end{matrix}\]",
        "wide": r"\(" + "x+" * 230 + "x" + r"\)",
        "high": r"\(" + r"\begin{matrix}" + r"X\\" * 60 + r"\end{matrix}" + r"\)",
        "powers": r"\(x^{" * 1 + r"X^{X^{X^{X^{X^{X^{X^{X}}}}}}}" + r"}\)",
        "less in a text": r"\(\text{a<b and <img src=x> c}\)",
        "strut": r"\(\vrule height 900em width 900em\) \(\hrule\)",
        "negative place": r"\(\moveleft 90em X\) \(\hbox to -90em{X}\)",
        "marks on letters": "Z" + "\u0334\u0351\u034d\u0316" * 60 + "a" + "\u0300\u0301\u0302\u0323" * 60,
        "marks on a letter of a formula": r"\(x" + "\u0300\u0323" * 60 + r"\)",
        "word": "W" * 450,
        "code": "`" + "W" * 230 + "`\n\n```\n" + "W" * 230 + "\n```",
        "table": "|" + "W" * 12 + "|" + "|".join("W" * 12 for _ in range(25)) + "|\n|" + "-|" * 26 + "\n",
        "quotes": ">" * 15 + " deep\n\n" + "  " * 8 + "- x",
        "heading": "# " + "W" * 200,
        "direction": "\u202e" + "W" * 300 + "\u202c",
        "letters as tall as lines": "\ufdfd" * 30 + "\u0e49" * 60 + "\ua668" * 20 + "\u12031" * 5,
    },
)
