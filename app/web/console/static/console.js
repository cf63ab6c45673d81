// The place in the page's address, what happens when the login has ended, and what Gradio's components lack for those
// who hear the page or use no mouse. All else is Gradio's own.

import { copy } from "/parley/copy.js";

const FIELDS = ["study", "tab", "session"];
const UNAUTHORISED = 401;

window.parleyConsole = {
  place() {
    const query = new URLSearchParams(location.search);
    return FIELDS.map((name) => query.get(name) ?? "");
  },
  keep(...values) {
    const query = new URLSearchParams();
    FIELDS.forEach((name, i) => { if (values[i]) query.set(name, values[i]); });
    history.replaceState(null, "", query.size ? `?${query}` : "/");
  },
};

const ask = window.fetch;
window.fetch = async (...request) => {
  const answer = await ask(...request);
  if (answer.status === UNAUTHORISED) location.reload();
  return answer;
};

document.addEventListener("click", ({ target }) => target.matches(".code-block > .copy") && copy(target, "Copied"));

// ---- Gradio sets some of it back when it paints, so it is mended after each change of the page.

const within = (selector, inner) => [...document.querySelectorAll(selector)].map((one) => [one, one.querySelector(inner)]);

function mend() {
  mending = null;
  for (const [group, label] of within("fieldset.block", "[data-testid=block-info]")) {
    const radios = group.querySelectorAll("input[type=radio]");
    // Each option has a name of its own, so that they are no group: no arrow moves in it, and each is a stop for Tab.
    for (const radio of radios) if (radio.name !== group.id) radio.name = group.id;
    Object.assign(group, { role: radios.length ? "radiogroup" : "group", ariaLabel: label?.textContent.trim() ?? "" });
  }
  for (const nothing of document.querySelectorAll(".empty[aria-label]")) nothing.role = "img";
  for (const menu of document.querySelectorAll(".vega-embed summary")) menu.ariaLabel = "Save the chart as a picture";
  for (const [editor, text] of within(".block:has(.cm-editor)", ".cm-content")) {
    text.tabIndex = 0;
    text.ariaLabel = editor.querySelector("[data-testid=block-label]")?.textContent.trim() ?? "";
  }
  document.querySelectorAll("style").forEach(darken);
}

// The colours of the editor's words are too pale on their paper, light or dark: each is mixed with the ink.
function darken({ sheet }) {
  for (const { selectorText, style } of sheet?.cssRules ?? []) {
    if (!/^\.\u037c\w+$/.test(selectorText ?? "") || !style.color || style.color.startsWith("color-mix")) continue;
    style.color = `color-mix(in oklab, ${style.color}, var(--ink) 55%)`;
  }
}

let mending = null;
new MutationObserver(() => (mending ??= requestAnimationFrame(mend)))
  .observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["name"] });
