// What stands in the page that no text may bring there: nowhere may there be the first kind, in places where people's and
// models' words are shown not the second either. Called with the selectors of such places; gives what was found.
(places) => {
  const nowhere = "iframe:not([sandbox='']), object, embed, portal, base:not([href='./']), frame, applet, marquee, dialog[open]:not([id])";
  const notThere = "script, style, link, meta, form, input, select, textarea, img, picture, video, audio, template, title, "
    + "noscript, plaintext, xmp, map, canvas, foreignObject, svg image, svg use, svg animate, [contenteditable], [popover], "
    + "[name], [data-act], [data-mark], [data-slot], [data-field], [role=alert], [autofocus], [accesskey], [background]";
  const told = (why, one) => `${why}: ${one.outerHTML.slice(0, 300)}`;
  const found = [...document.querySelectorAll(nowhere)].map((one) => told("element", one));
  if (window.__pwned !== undefined) found.push("a script ran");
  for (const one of document.querySelectorAll("*:not(.download-link)")) { // the console's editor has one, a blob
    for (const { name, value } of one.attributes) {
      if (name.startsWith("on")) found.push(told("handler", one));
      const leads = ["href", "src", "action", "formaction", "xlink:href", "data", "poster", "srcset"].includes(name);
      const kind = leads && URL.parse(value, location.href)?.protocol;
      if (kind && !["http:", "https:", "mailto:"].includes(kind) && !/^data:(image|font)\//.test(value)) {
        found.push(told("address", one));
      }
    }
  }
  for (const frame of document.querySelectorAll("iframe[srcdoc]")) {
    const inside = new DOMParser().parseFromString(frame.srcdoc, "text/html");
    const harmful = "script, iframe, object, embed, meta[http-equiv], base, link, svg, img:not([src^='data:image/']), video, audio";
    for (const one of inside.querySelectorAll(harmful)) found.push(told("in a frame", one));
    for (const one of inside.querySelectorAll("*")) {
      if ([...one.attributes].some(({ name }) => name.startsWith("on"))) found.push(told("handler in a frame", one));
      if (one.protocol === "javascript:") found.push(told("address in a frame", one));
    }
  }
  for (const script of document.scripts) {
    if (script.src && new URL(script.src).origin !== location.origin) found.push(told("script", script));
  }
  for (const place of document.querySelectorAll(places.join(", ") || "none")) {
    for (const one of place.querySelectorAll(notThere)) found.push(told("element", one));
    for (const one of place.querySelectorAll("[style]")) {
      if (!one.closest("math, .gutter, [data-testid]") && one.style.position) found.push(told("style", one));
    }
    for (const one of place.querySelectorAll("a[href^=http]")) {
      if (one.target !== "_blank" || !one.relList.contains("noopener")) found.push(told("link", one));
    }
    for (const one of place.querySelectorAll("[id]")) found.push(told("id", one));
  }
  return found;
}
