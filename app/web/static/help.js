// Asking the researchers for help: a dialog that no update of the page touches, with what was asked and answered.

import { newKey } from "./api.js";
import { $ } from "./forms.js";
import { escaped, patch } from "./patch.js";
import { WORDS } from "./words.js";

const EVERY_MS = 10_000; // how often is looked for an answer
let answers = 0; // how many are on the page
let polling = null;
let key = null; // of what is being sent, until it has arrived

// `ask` sends a text and returns the note of a refusal; `look` looks for news; `note` says a sentence on the page.
export function showHelp(help, { ask, look, note }) {
  clearTimeout(polling);
  if (!help) return $("#help")?.remove();
  const dialog = $("#help dialog") ?? made(ask);
  const told = help.messages.map(([own, text]) => `<p><b>${escaped(own ? WORDS.you : WORDS.researcher)}</b> <bdi>${escaped(text)}</bdi></p>`);
  patch($("[role=log]", dialog), told.join(""));
  const words = { h2: WORDS.help, "#help-about": help.text, label: WORDS.ask, "[type=submit]": WORDS.send, "[data-close]": WORDS.close };
  for (const [part, text] of Object.entries(words)) $(part, dialog).textContent = text;
  $("textarea", dialog).maxLength = help.max_chars;
  for (const part of ["label", "textarea", "[type=submit]"]) $(part, dialog).hidden = !help.can_ask;
  const came = help.messages.filter(([own]) => !own).length;
  if (came > answers) $("[role=status]", dialog).textContent = "";
  if (came > answers && !dialog.open) note(WORDS.answered);
  answers = came;
  if (help.messages.length && help.can_ask) polling = setTimeout(look, EVERY_MS);
}

function made(ask) {
  const place = Object.assign(document.createElement("div"), { id: "help" });
  place.innerHTML = `<dialog aria-labelledby="help-heading"><h2 id="help-heading" tabindex="-1" autofocus></h2><p id="help-about" dir="auto"></p><div role="log" tabindex="0" aria-labelledby="help-heading"></div>
    <form novalidate><div class="field"><label class="question" for="help-text"></label><textarea id="help-text" rows="3" dir="auto"></textarea></div><p role="status"></p>
    <div class="end"><button type="submit" class="primary"></button><button type="button" data-close></button></div></form></dialog>`;
  $(".gradio-container").append(place);
  const [dialog, box, status, send] = ["dialog", "textarea", "[role=status]", "[type=submit]"].map((part) => $(part, place));
  $("form", dialog).addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!box.value.trim()) return box.focus();
    send.disabled = true;
    key ??= newKey();
    const refusal = await ask(box.value, key).catch((error) => error.message);
    if (refusal) status.textContent = refusal;
    else { box.value = ""; status.textContent = WORDS.received; key = null; }
    send.disabled = false;
    box.focus();
  });
  box.addEventListener("input", () => { key = null; status.textContent = ""; });
  return dialog;
}
