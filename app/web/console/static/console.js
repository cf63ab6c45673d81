// The place in the page's address, what happens when the login has ended, and what Gradio's components lack for those
// who hear the page or use no mouse. All else is Gradio's own.

import { copy } from "../parley/copy.js";

const FIELDS = ["study", "tab", "session"];
const UNAUTHORISED = 401, TOO_LARGE = 413;

window.parleyConsole = {
  place() {
    const query = new URLSearchParams(location.search);
    return FIELDS.map((name) => query.get(name) ?? "");
  },
  // Another place than before is a step back for the browser; the first one and a tab within it (`part`) are none.
  keep(...values) {
    const before = new URLSearchParams(location.search), query = new URLSearchParams();
    FIELDS.forEach((name, i) => { if (values[i]) query.set(name, values[i]); });
    const moved = before.has("tab") && FIELDS.some((name) => before.get(name) !== query.get(name));
    if (!moved && before.has("part")) query.set("part", before.get("part"));
    history[moved ? "pushState" : "replaceState"](null, "", query.size ? `?${query}` : location.pathname);
  },
  // Nothing can be done in the parts of the page with this selector until `open`.
  shut(selector) {
    shut = selector || shut;
    keepShut();
  },
  open() {
    shut = "";
    keepShut();
    const build = document.querySelector("button#new-build, #new-build button");
    if (building && build?.checkVisibility()) building = build.click();
  },
  // The chosen table of items, as its name and its content in base64; it is sent like any other value of the page.
  async table() {
    const input = document.querySelector("#items-input"), [file] = input.files;
    const url = await new Promise((resolve) => {
      const reader = Object.assign(new FileReader(), { onload: () => resolve(reader.result) });
      reader.readAsDataURL(file);
    });
    input.value = ""; // so that the same file can be chosen again
    return [file.name, url.slice(url.indexOf(",") + 1)];
  },
  // The builder's answers, for the person who gave them, until the browser's tab is closed.
  keepAnswers(values) {
    sessionStorage.setItem(answersOf(), JSON.stringify(values));
  },
  // What was kept, or these values of the form if nothing was.
  keptAnswers(values) {
    const kept = JSON.parse(sessionStorage.getItem(answersOf()) ?? "[]");
    return kept.length === values.length ? kept : values;
  },
  // Reloads the page without the question whether to leave what is not saved: it is kept, or was given up.
  reload() {
    leaves = true;
    location.reload();
  },
  // Whether a request got no answer: Gradio then sends nothing more, and loads the page again once the server answers.
  lost: false,
  // The editor on the page (editor.js), or null.
  editor: null,
  async edit(...component) {
    (await import("./editor.js")).attach(...component);
  },
};

const answersOf = () => `builder ${document.querySelector("#who").textContent.trim()}`;

// What the page says by itself: what it would send is refused where nobody would see it. The next press removes it.
function say(text) {
  document.querySelector("#refused")?.remove();
  const note = Object.assign(document.createElement("div"), { id: "refused", className: "note bad", role: "alert", textContent: text });
  if (text) document.querySelector("#rooms").before(note);
}

for (const press of ["pointerdown", "keydown"]) addEventListener(press, () => say(""));

addEventListener("popstate", () => location.reload());

// The builder is open again with Studies where it was open when another tab was chosen; it keeps its answers.
let building = false;
addEventListener("click", ({ target }) => {
  if (target.closest?.("#rooms > :first-child [role=tab]")) building ||= document.querySelector("#builder")?.checkVisibility();
}, true);

// The tab of a study or a session, which a reload opens again.
const INNER = ":is(#bench, #session-views) [role=tab]";
let part = new URLSearchParams(location.search).get("part");
addEventListener("click", ({ target, isTrusted }) => {
  const chosen = isTrusted && target.closest?.(INNER), query = new URLSearchParams(location.search);
  if (!chosen) return;
  query.set("part", chosen.textContent.trim());
  history.replaceState(null, "", `?${query}`);
});

function openPart() {
  const inner = [...document.querySelectorAll(INNER)].find((one) => one.textContent.trim() === part && one.checkVisibility());
  if (inner) part = inner.click();
}

// What the last act said is gone with the next tab that a person chooses; a tab that an act opens is no choice.
addEventListener("click", ({ target, isTrusted }) => {
  if (isTrusted && target.closest?.("[role=tab]")) document.querySelector("button#note-clear, #note-clear button")?.click();
});

// Whether a text is larger than a request may be, with what else is in it; if so, that is said.
function isTooLarge(name, bytes, most = Number(document.querySelector("meta[name=largest]").content) - 10_000) {
  const [has, allowed] = [bytes, most].map((number) => number.toLocaleString("en"));
  say(bytes > most ? `${name} has ${has} bytes; at most ${allowed} are allowed, so nothing of it was taken.` : "");
  return bytes > most;
}

const bytesOf = (text) => new Blob([JSON.stringify(text)]).size;

document.addEventListener("paste", (event) => {
  if (!isTooLarge("The pasted text", bytesOf(event.clipboardData?.getData("text") ?? ""))) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);

// A text file that was chosen fills a box, as if it was pasted there.
document.addEventListener("change", async ({ target }) => {
  const [file] = (target.dataset.into && target.files) || [];
  if (!file) return;
  target.value = "";
  const text = isTooLarge(file.name, file.size) ? null : await file.text();
  if (text === null || isTooLarge(file.name, bytesOf(text))) return;
  const box = document.querySelector(target.dataset.into);
  box.value = text;
  box.dispatchEvent(new Event("input", { bubbles: true }));
});

// A table that was chosen is uploaded at once, unless it is too large to be sent.
document.addEventListener("change", ({ target }) => {
  const [file] = (target.id === "items-input" && target.files) || [];
  if (!file) return;
  if (isTooLarge(file.name, file.size, Number(target.dataset.largest))) target.value = "";
  else document.querySelector("button#items-upload, #items-upload button").click();
});

// Chosen files are sent one after the other, and then shown. What was refused is said beside them.
document.addEventListener("change", async ({ target }) => {
  if (!target.dataset.sends || !target.files.length) return;
  const files = [...target.files], most = Number(target.dataset.largest), { study, sends } = target.dataset;
  const of = target.id.replace(/-input$/, "");
  const [progress, refused] = ["progress", "refused"].map((part) => document.querySelector(`#${of}-${part}`));
  target.value = "";
  refused.replaceChildren();
  for (const [number, file] of files.entries()) {
    progress.textContent = `Uploading ${number + 1} of ${files.length}: ${file.name}…`;
    const fault = file.size > most ? `${file.name} has ${file.size.toLocaleString("en")} bytes; at most ${most.toLocaleString("en")} are allowed. Save it smaller${sends.endsWith("picture") ? ", or as JPEG or WebP" : ""}.` : await sendFile(sends, study, file);
    if (fault) refused.append(Object.assign(document.createElement("li"), { textContent: fault }));
  }
  const count = files.length - refused.childElementCount;
  progress.textContent = count ? `${count} of ${files.length} ${files.length === 1 ? "file is" : "files are"} uploaded.` : "";
  document.querySelector(`button#${of}-sent, #${of}-sent button`).click();
});

// Sends a file; what was wrong with it, or nothing.
async function sendFile(to, study, file) {
  const query = new URLSearchParams({ study, name: file.name });
  try {
    const answer = await fetch(`${to}?${query}`, { method: "POST", body: file });
    return answer.ok ? "" : (await answer.json()).note;
  } catch {
    return `${file.name} could not be sent. Upload it again.`;
  }
}

const ask = window.fetch, EVENTS = "/gradio_api/run/predict", sent = new Map();

// Gradio sends an event a second time before the first was answered, where two come close together. The server would
// work on both at once, and the answer to the older one could be painted last: each waits for the one before it.
// And whatever else is asked waits until what was typed in the editor is saved: its answer could be about an older
// text, or paint over the last words.
async function askInTurn(...request) {
  const [url, options] = request;
  if (!String(url).split("?")[0].endsWith(EVENTS)) return ask(...request);
  const { event_data: _, ...body } = JSON.parse(options.body); // a second copy of what was typed, which nobody reads
  const { fn_index: event, data } = body, { editor } = window.parleyConsole;
  const next = () => ask(url, { ...options, body: JSON.stringify(body) });
  if (!editor?.sends(data)) await editor?.rest();
  const answer = sent.get(event)?.then(next, next) ?? next();
  sent.set(event, answer);
  answer.catch(() => {
    window.parleyConsole.lost = true;
    window.parleyConsole.editor?.failed();
  });
  return answer;
}

window.fetch = async (...request) => {
  let answer;
  try {
    answer = await askInTurn(...request);
  } finally {
    if (!answer?.ok) window.parleyConsole.open();
  }
  if (answer.status === UNAUTHORISED) window.parleyConsole.reload();
  if (answer.status === TOO_LARGE) say("What was sent is too large, so nothing was done or saved. Shorten it.");
  return answer;
};

document.addEventListener("click", ({ target }) => target.matches(".code-block > .copy, .copies") && copy(target, "Copied"));

// The second half of a double click is no second press: what the button sends is gone by then.
document.addEventListener("click", (event) => {
  if (event.detail < 2 || !event.target.closest("button.sm, button.lg")) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);

// What is typed into a list replaces what is chosen there, where a click would add it to its label.
document.addEventListener("click", ({ target }) => target.matches("[role=combobox]") && target.select());

// What is left to do in the builder leads to its field. (The page has a base address, so a link to #... would reload it.)
document.addEventListener("click", (event) => {
  const place = event.target.closest('#builder a[href^="#"]')?.getAttribute("href").slice(1);
  if (!place) return;
  event.preventDefault();
  const field = document.getElementById(place);
  field?.scrollIntoView({ block: "start" });
  field?.querySelector("input, textarea")?.focus({ preventScroll: true });
});

// The page is left when what was typed is saved: a link waits for that; for what else leads away, the browser asks.
document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[href]"), rest = window.parleyConsole.editor?.rest();
  const elsewhere = link?.target || event.ctrlKey || event.metaKey || event.shiftKey;
  if (!link || !rest || elsewhere || event.defaultPrevented) return;
  event.preventDefault();
  await rest;
  location.assign(link.href);
});
addEventListener("beforeunload", (event) => {
  if (!leaves && (window.parleyConsole.editor?.unsaved() || (window.parleyConsole.lost && filled()))) event.preventDefault();
});
let leaves = false;
const typed = new Set();
addEventListener("input", ({ target, isTrusted }) => isTrusted && isText(target) && typed.add(target), true);
const filled = () => [...typed].some((one) => one.value && one.checkVisibility());

// Gradio's dropdown answers each key a moment later by opening its list, and so after Tab too, once the focus has left it.
document.addEventListener("keydown", (event) => {
  if (["Tab", "Shift"].includes(event.key) && event.target.matches("[role=combobox]")) event.stopPropagation();
}, true);

// Gradio's text fields listen to the keys that write, not to what was written: nobody heard of what was pasted, cut,
// deleted, dictated or filled in. So each change is a key to them, and a key is none but Enter, which submits.
const isText = (field) => field.matches("[data-testid=textbox]");
document.addEventListener("input", ({ target }) => isText(target) && target.dispatchEvent(new KeyboardEvent("keypress")));
document.addEventListener("keypress", (event) => {
  if (event.isTrusted && event.key !== "Enter" && isText(event.target)) event.stopPropagation();
}, true);

// ---- Gradio sets some of it back when it paints, so it is mended after each change of the page.

const within = (selector, inner) => [...document.querySelectorAll(selector)].map((one) => [one, one.querySelector(inner)]);

let shut = "";

function keepShut() {
  const parts = new Set(shut && document.querySelectorAll(shut));
  for (const open of document.querySelectorAll("[inert]")) if (!parts.has(open)) open.inert = false;
  for (const part of parts) if (!part.inert) part.inert = true;
}

// A note lies over the foot of the page: there is as much room below, and the button that was pressed stays in view.
let noted = "0px";

function makeRoom() {
  const note = document.querySelector("#note .note, #refused"), height = `${note?.offsetHeight ?? 0}px`;
  if (height === noted) return;
  document.documentElement.style.setProperty("--noted", (noted = height));
  if (note) document.querySelector("button:focus")?.scrollIntoView({ block: "nearest" });
}

function mend() {
  mending = null;
  keepShut();
  makeRoom();
  if (part) openPart();
  for (const [group, label] of within("fieldset.block", "[data-testid=block-info]")) {
    const radios = group.querySelectorAll("input[type=radio]");
    // Each option has a name of its own, so that they are no group: no arrow moves in it, and each is a stop for Tab.
    for (const radio of radios) if (radio.name !== group.id) radio.name = group.id;
    Object.assign(group, { role: radios.length ? "radiogroup" : "group", ariaLabel: label?.textContent.trim() ?? "" });
  }
  for (const list of document.querySelectorAll("[role=listbox]:not([aria-label])")) {
    list.ariaLabel = document.querySelector(`[aria-controls="${list.id}"]`)?.ariaLabel ?? null;
  }
  // What asks for a confirmation stands above the button that was pressed, and comes as a new element: it gets the focus.
  for (const asked of document.querySelectorAll(".sure:not([tabindex])")) {
    asked.tabIndex = -1;
    asked.focus();
  }
  for (const found of document.querySelectorAll("#tested:not([data-seen])")) {
    found.dataset.seen = "";
    found.scrollIntoView({ block: "nearest" });
  }
  // What scrolls sideways can be reached by the keyboard.
  for (const wide of document.querySelectorAll("math, .formula, .code-block pre")) {
    if (wide.clientWidth && wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
    else wide.removeAttribute("tabindex");
  }
  for (const nothing of document.querySelectorAll(".empty[aria-label]")) nothing.role = "img";
  for (const menu of document.querySelectorAll(".vega-embed summary")) menu.ariaLabel = "Save the chart as a picture";
}

let mending = null;
const mendSoon = () => (mending ??= requestAnimationFrame(mend));
addEventListener("resize", mendSoon);
new MutationObserver(mendSoon)
  .observe(document, { childList: true, subtree: true, attributes: true, attributeFilter: ["name"] });
