// Asking the researchers for help: a dialog that no update of the page touches, with what was asked and answered.

import { newKey } from "./api.js";
import { $ } from "./forms.js";
import { escaped, patch } from "./patch.js";
import { WORDS } from "./words.js";

let answers = 0; // how many are on the page
let polling = null;

// `ask` sends a text and returns the note of a refusal; `look` looks for news of the desk, which are an answer, more time
// or the end, after as many milliseconds as the server said, so that it can bear all pages; `note` says a sentence on the page.
export function showHelp({ ended, help, desk_ms }, { ask, look, note }) {
  clearTimeout(polling);
  if (!help) return $("#help")?.remove();
  const dialog = $("#help dialog") ?? made(help.text, ask);
  const told = help.messages.map(([own, text]) => `<p><b>${escaped(own ? WORDS.you : WORDS.researcher)}</b> <bdi>${escaped(text)}</bdi></p>`);
  patch($("[role=log]", dialog), told.join(""));
  for (const part of [".field", "[type=submit]"]) $(part, dialog).hidden = !help.can_ask;
  const came = help.messages.filter(([own]) => !own).length;
  if (came > answers) $("[role=status]", dialog).textContent = "";
  if (came > answers && !dialog.open) note(WORDS.answered);
  answers = came;
  if (desk_ms && help.can_ask && (!ended || told.length)) polling = setTimeout(look, desk_ms);
}

function made(about, ask) {
  const place = Object.assign(document.createElement("div"), { id: "help" });
  const [heading, label, send, close] = [WORDS.help, WORDS.ask, WORDS.send, WORDS.close].map(escaped);
  place.innerHTML = `<dialog aria-labelledby="help-heading"><h2 id="help-heading" tabindex="-1" autofocus>${heading}</h2>
    <p dir="auto">${escaped(about)}</p><div role="log" tabindex="0" aria-labelledby="help-heading"></div><form novalidate>
    <div class="field"><label class="question" for="help-text">${label}</label><textarea id="help-text" rows="3" dir="auto"></textarea></div>
    <p role="status"></p><div class="end"><button type="submit" class="primary">${send}</button><button type="button" data-close>${close}</button></div></form></dialog>`;
  $(".gradio-container").append(place);
  const [box, status, button] = ["textarea", "[role=status]", "[type=submit]"].map((part) => $(part, place));
  let key = newKey(); // of one message, until it has arrived
  box.addEventListener("input", () => { key = newKey(); status.textContent = ""; });
  $("form", place).addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = Boolean(box.value.trim());
    const refusal = button.disabled ? await ask(box.value, key).catch((error) => error.message) : "";
    if (button.disabled) status.textContent = refusal || WORDS.received;
    if (button.disabled && !refusal) box.value = "";
    button.disabled = false;
    box.focus();
  });
  return $("dialog", place);
}
