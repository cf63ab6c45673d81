// The editor of study files: CodeMirror, with completion and help from the JSON Schema, and the faults that the console
// found. `attach` is called by the component `study-text` when it is on the page.

import {
  autocompletion, completionKeymap, defaultKeymap, drawSelection, EditorState, EditorView, highlightActiveLine,
  highlightActiveLineGutter, HighlightStyle, history, historyKeymap, hoverTooltip, indentOnInput, indentUnit,
  indentWithTab, keymap, lineNumbers, lintGutter, lintKeymap, search, searchKeymap, setDiagnostics, showPanel,
  syntaxHighlighting, tags, yaml,
} from "./codemirror.js";
import { explained, placeAt, suggestions } from "./study_schema.js";

const MOST_VALUES = 20;
const KEYS = "Ctrl+Space: what can stand here. Esc, then Tab: leave the editor.";
const schema = fetch("console/study.schema.json").then((answer) => answer.json());
let known = null; // the schema once it is here
schema.then((value) => { known = value; });

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent-deep)", fontWeight: "600" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: [tags.lineComment, tags.meta], color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: "var(--soft)" },
]);

// ---- Completion, and the help for a key.

async function complete({ state, pos, explicit }) {
  const place = placeAt(state.doc.toString(), pos);
  if (!place || (!explicit && place.kind === "key" && !place.word)) return null;
  const options = suggestions(await schema, place).map(({ label, key, info, required }) => ({
    label, info: info || undefined, type: key ? "property" : "enum", boost: required ? 1 : 0,
    apply: key && !/^\s*:/.test(state.sliceDoc(pos, pos + 2)) ? `${label}: ` : label,
  }));
  return options.length ? { from: place.from, options, validFor: /^[\w$-]*$/ } : null;
}

// The help for the key at an offset, or for that of the value there; null where there is none.
function helpAt(state, pos) {
  const { text, from } = state.doc.lineAt(pos);
  const place = placeAt(state.doc.toString(), pos + /^[\w$-]*/.exec(text.slice(pos - from))[0].length);
  return known && place ? explained(known, place) : null;
}

function written(help, dom) {
  const name = document.createElement("b");
  name.textContent = help.key;
  dom.replaceChildren(name, ` ${help.info.replaceAll("\n", " ")}`);
  if (help.standard) dom.append(` Default: ${help.standard}.`);
  if (help.values.length > 1) dom.append(` Allowed: ${help.values.slice(0, MOST_VALUES).join(", ")}.`);
}

const hover = hoverTooltip(async (view, pos) => {
  await schema;
  const help = helpAt(view.state, pos);
  return help?.info ? { pos, above: true, create: () => ({ dom: tip(help) }) } : null;
});

function tip(help) {
  const dom = document.createElement("div");
  dom.className = "cm-help";
  written(help, dom);
  return dom;
}

// The same for those who use no mouse: the help for the key at the cursor, below the text.
const atCursor = showPanel.of((view) => {
  const dom = document.createElement("div");
  Object.assign(dom, { className: "cm-help", id: "study-text-help" });
  const show = (state) => {
    const help = helpAt(state, state.selection.main.head);
    if (help) written(help, dom); else dom.textContent = KEYS;
  };
  show(view.state);
  schema.then(() => show(view.state));
  return { dom, update: ({ state, docChanged, selectionSet }) => { if (docChanged || selectionSet) show(state); } };
});

// ---- Faults: marked in the text and beside it; each in the list is a button that selects its place.

// Columns count characters, as Python does; those of CodeMirror count UTF-16 units.
const units = (text, characters) => [...text].slice(0, characters).join("").length;

function range({ dataset }, doc) {
  const line = doc.line(Math.min(Number(dataset.line), doc.lines));
  const from = line.from + units(line.text, Number(dataset.column) - 1);
  const to = dataset.end ? line.from + units(line.text, Number(dataset.end) - 1) : line.to;
  return { from: Math.min(from, line.to), to: Math.max(from, Math.min(to, line.to)) };
}

function faulty(view) {
  const found = [...document.querySelectorAll("#faults [data-line]")].map((fault) => ({
    ...range(fault, view.state.doc), severity: "error", message: fault.querySelector(".what").textContent.trim(),
  }));
  view.dispatch(setDiagnostics(view.state, found.sort((one, other) => one.from - other.from)));
}

function jump(view, fault) {
  const { from, to } = range(fault, view.state.doc);
  view.dispatch({ selection: { anchor: from, head: to }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  view.focus();
}

// ---- What is not saved yet is kept in the browser's tab, for the person who wrote it, by its study.

const studyOf = (mark) => mark.split(" ")[0]; // a mark tells the server which text of which study it is (editor.py)
const placeOf = (mark) => `draft ${studyOf(mark)} of ${document.querySelector("#who").textContent.trim()}`;
const keep = (mark, texts) => sessionStorage.setItem(placeOf(mark), JSON.stringify({ mark, ...texts }));
const kept = (mark) => JSON.parse(sessionStorage.getItem(placeOf(mark)));
const drop = (mark) => sessionStorage.removeItem(placeOf(mark));

const SAVED = "saved", SAVING = "saving", REFUSED = "refused", FAILED = "failed";
const SAID = {
  [SAVING]: "Saving…",
  [FAILED]: "Not saved: the console did not answer. Your text is kept in this tab. Reload the page to try again.",
};

// ---- The component.

export function attach(element, props, trigger, watch) {
  let given = false; // whether a change is the server's
  let mark = "", stored = ""; // the text that the server has, as far as is known; no mark: it is only to be read
  let saving = false, sent = null; // what was sent last: one text is saved after the other
  let before = ""; // the mark that the server gave last when that was sent
  const waiting = [], file = element.querySelector(".study-file"), line = element.querySelector(".state");
  const text = () => view.state.doc.toString();
  const unsaved = () => saving || (mark !== "" && text() !== stored);

  function show(state) {
    file.dataset.state = state;
    line.textContent = SAID[state] ?? "";
    line.role = state === FAILED ? "alert" : null;
  }

  function save() {
    if (saving) return;
    if (!unsaved()) return rest(SAVED);
    if (window.parleyConsole.lost) return show(FAILED);
    saving = true;
    sent = text();
    keep(mark, { sent, text: sent });
    if (file.dataset.state !== REFUSED) show(SAVING); // else what was said of it stands until it is saved
    trigger("input");
  }

  function rest(state) {
    saving = false;
    if (state === SAVED) {
      drop(mark);
      faulty(view); // where the same text was put in again, nothing is asked, and the marks are gone with the old one
    }
    show(state);
    for (const go of waiting.splice(0)) go();
  }

  // The server saved what was sent, or refused it and gave no other mark.
  function written(now) {
    if (!saving) return;
    if (now === before) {
      stored = null; // what is stored now is not known
      return rest(REFUSED);
    }
    [mark, stored, saving] = [now, sent, false];
    props.value = JSON.stringify({ text: stored, mark });
    save(); // what was typed meanwhile
  }

  function paint() {
    const { text: now = "", mark: its = "" } = JSON.parse(props.value || "{}");
    if (unsaved() && studyOf(its) === studyOf(mark)) return;
    [mark, stored, saving, sent] = [its, now, false, null];
    if (now !== text() || view.state.readOnly === Boolean(mark)) {
      given = true;
      view.setState(start(now)); // another text: there is nothing to undo
      given = false;
      faulty(view);
    }
    if (!mark) return show(SAVED);
    const left = kept(mark);
    if (!left || left.text === now) return rest(SAVED);
    if (left.sent !== now) mark = left.mark; // else it was saved, and nobody told this page
    view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: left.text } });
  }

  const typed = EditorView.updateListener.of(({ docChanged }) => {
    if (!docChanged || given) return;
    keep(mark, { sent, text: text() });
    save();
  });
  const start = (doc) => EditorState.create({
    doc,
    extensions: [
      lineNumbers(), lintGutter(), history(), drawSelection(), indentOnInput(), indentUnit.of("  "), highlightActiveLine(),
      highlightActiveLineGutter(), EditorView.lineWrapping, yaml(), syntaxHighlighting(colours), search({ top: true }),
      autocompletion({ override: [complete], icons: false }), hover, atCursor, typed,
      keymap.of([...completionKeymap, ...lintKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
      EditorState.readOnly.of(!mark),
      EditorView.contentAttributes.of({ tabindex: "0", "aria-labelledby": "study-text-label", "aria-describedby": "study-text-help" }),
    ],
  });
  const view = new EditorView({ state: start(""), parent: file });
  window.parleyConsole.editor = {
    text,
    unsaved,
    writing: (of) => {
      before = of;
      return [sent, mark];
    },
    written,
    failed: () => saving && rest(FAILED),
    sends: ([is, of]) => saving && is === sent && of === mark,
    rest: () => (saving ? new Promise((go) => { waiting.push(go); }) : null),
  };
  paint();
  watch("value", paint);
  element.querySelector(".discard").addEventListener("click", () => {
    drop(mark);
    window.parleyConsole.reload();
  });
  const faults = document.getElementById("faults");
  new MutationObserver(() => faulty(view)).observe(faults, { childList: true, subtree: true });
  faults.addEventListener("click", ({ target }) => {
    const fault = target.closest("[data-line]");
    if (fault) jump(view, fault);
  });
  element.querySelector(".copy").addEventListener("click", ({ target }) => {
    view.dispatch({ selection: { anchor: 0, head: view.state.doc.length } }); // where there is no clipboard it is selected
    view.focus();
    navigator.clipboard?.writeText(view.state.doc.toString()).then(() => { target.textContent = "Copied"; });
  });
  faulty(view);
}
