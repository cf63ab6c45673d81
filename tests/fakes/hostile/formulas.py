"""LaTeX that would be more than a formula."""

from __future__ import annotations

from tests.fakes.hostile.payload import EVIL, PWN, of

FORMULAS = of(
    "formula",
    "be a link, a picture, a style or a script",
    {
        "link": r"\(\href{javascript:window.__pwned=1}{x}\)",
        "link, block": r"$$\href{javascript:alert(1)}{x}$$",
        "address": r"\(\url{javascript:alert(1)}\)",
        "data": r"\(\htmlData{onclick=alert(1)}{x}\)",
        "class": r"\(\htmlClass{hidden}{x}\) \(\htmlId{send}{x}\)",
        "style": r"\(\htmlStyle{position:fixed;inset:0}{x}\)",
        "style, MathJax": r"\(\style{position:fixed;inset:0}{x}\)",
        "picture": rf"\(\includegraphics{{https://{EVIL}/k.png}}\)",
        "text": rf"\(\text{{<img src=x onerror={PWN}>}}\)",
        "text, slashes": rf"\(\text{{<img/src=x/onerror={PWN}>}}\)",
        "text, out of it": rf"\(\text{{</mtext></math><script>{PWN}</script>}}\)",
        "box": rf"\(\mbox{{</mtext></math><iframe/src=//{EVIL}></iframe>}}\)",
        "unicode": rf"\(\unicode{{<svg/onload={PWN}>}}\)",
        "unknown": rf"\(\nonsense{{<script>{PWN}</script>}}\)",
        "tag": rf"\(<img src=x onerror={PWN}>\)",
        "unclosed": rf"\(\frac{{1}}{{ <img src=x onerror={PWN}>",
        "wrong": r"\(\frac{1}{\) and $$x^{$$ and \[\sqrt[\]",
        "colour": r"\(\color{red;background:url(https://evil.example/c.png)}{x}\)",
        "macro": r"\(\def\x{\href{javascript:alert(1)}{y}}\x\)",
        "global macro": r"\(\gdef\frac#1#2{gone}\) then \(\frac{1}{2}\)",
        "file": r"\(\input{/etc/passwd}\) \(\write18{id}\)",
        "huge rule": r"\(\rule{999999em}{999999em}\)",
        "negative space": r"\(\kern{-99999em}x \hspace{-9999em} y\)",
        "huge letters": r"\(\Huge\Huge\rule{9em}{9em}\raisebox{-9999em}{x}\)",
        "money": "It costs $5 and then $10 more, or $$ and $$.",
    },
)
