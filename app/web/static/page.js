// The participant's page: posts what people do to the participant API, and hands Gradio the paintings that come back.
// All that is kept here is what the server said last (`now`) and what was not yet sent; the truth is the server's log.
"use strict";
(() => {
  const OUTPUTS = document.currentScript.dataset.outputs.split(" ");
  const RETRY_MS = [1000, 2000, 4000];
  const DRAFT_MS = 800;
  const STREAM_MS = 60;
  const TYPING = '<span class="typing">Writing…</span>';
  const WORDS = {
    connecting: "The connection is slow. Trying again; nothing is lost.",
    offline: "There is no connection at the moment. What you wrote is still here.",
    broken: "Something went wrong on our side. Please reload this page; your answers are saved.",
    nocopy: "This text cannot be copied, as the study asks you to work on it here.",
    blank: "Please write a message first.",
    link: "This page needs your personal link. Please open the link to the study again; you will be where you left.",
    hint: "Answer the questions above to go on.",
    busy: "Saving…",
    saved: "Draft saved",
    copied: "Copied",
  };

  // What the server said last.
  let now = { path: null, seen: null, shown: null, actions: [], messages: [], waiting: false, ended: false };
  let busy = false; // an act is on its way
  let unsaved = null; // the timer of a draft to be saved

  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
  const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));
  const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const box = () => $("#box textarea");

  // ---- Painting: updates are kept by component and fetched by Gradio when the bus rings; none is lost if rings merge.

  let pending = {};
  let rings = 0;

  function paint(updates) {
    for (const [name, update] of Object.entries(updates)) pending[name] = { ...pending[name], ...update };
    window.parleyBus?.(++rings);
  }

  function updates() {
    const taken = pending;
    pending = {};
    return OUTPUTS.map((name) => ({ ...taken[name], __type__: "update" }));
  }

  // Code is left alone, formulas keep their delimiters; elsewhere what looks like a tag or an entity is shown as typed.
  const SPLIT =
    /(^ {0,3}(```+|~~~+)[^\n]*\n(?:[\s\S]*?^ {0,3}\2[^\n]*$|[\s\S]*$(?![\s\S]))|(?<!`)(`+)(?!`)[\s\S]+?(?<!`)\3(?!`))|(\\\([\s\S]{1,2000}?\\\)|\\\[[\s\S]{1,2000}?\\\]|\$\$[\s\S]{1,2000}?\$\$)|(?<![\\$])\$(?![\s$])([^$\n]*?(?<![\s\\]))\$(?![\d$])/gm;

  function shown(text, dollars) {
    const plain = (t) => t.replace(/&(?=#?\w+;)/g, "&amp;").replace(/</g, "&lt;");
    const maths = (t) => (depth(t) > 40 ? "`" + t + "`" : t.replace(/</g, "\\lt "));
    let out = "";
    let end = 0;
    for (const found of text.matchAll(SPLIT)) {
      const [all, code, fence, , formula, dollar] = found;
      out += plain(text.slice(end, found.index));
      if (code) out += fence ? all.replace(/^( *[`~]+) *mermaid/, "$1text") : all;
      else if (formula) out += maths(formula);
      else out += dollars ? maths(`\\(${dollar}\\)`) : plain(all);
      end = found.index + all.length;
    }
    return out + plain(text.slice(end));
  }

  function depth(formula) {
    let deep = 0, deepest = 0;
    for (const c of formula) deepest = Math.max(deepest, (deep += (c === "{") - (c === "}")));
    return Math.max(deepest, formula.split(/\\(?:sqrt|frac|left|begin)/).length - 1);
  }

  function paintChat(reply) {
    const said = (role, text) =>
      ({ role, content: [{ type: "text", text }], metadata: { title: null }, options: null });
    const value = now.messages.map((m) => said(m.role === "You" ? "user" : "assistant", shown(m.text, now.dollars)));
    if (reply !== undefined) value.push(said("assistant", reply ? shown(reply, now.dollars) : TYPING));
    paint({ chat: { value } });
  }

  function note(text, again) {
    const button = again ? ' <button type="button" data-again>Try again</button>' : "";
    paint({ note: { value: text ? `<p class="note">${escaped(text)}${button}</p>` : "" } });
    note.again = again;
  }

  async function show(painting) {
    const before = now;
    now = painting;
    const moved = before.path !== now.path || before.shown?.split(" ")[1] !== now.shown.split(" ")[1];
    if (moved) clearTimeout(unsaved);
    Object.assign(document.documentElement, { lang: now.lang, dir: now.dir });
    document.documentElement.dataset.layout = now.chat ? "chat" : "page";
    paint(now.updates);
    note(now.note);
    if (!now.waiting) paintChat();
    await painted();
    if (moved) preview();
    refresh();
    faults(now.faults);
    document.title = $("#left h1")?.textContent || document.title;
    document.documentElement.dataset.ready = "yes";
    if (moved && before.path !== null && !now.refused) {
      window.scrollTo(0, 0);
      $("#left h1")?.focus({ preventScroll: true });
    }
    if (now.waiting) follow();
    else if (!now.ended && !now.actions.length) setTimeout(look, 1000); // the server is still drawing what comes next
  }

  // Gradio paints in its own time; two frames after the bus rang it has.
  const painted = () => new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 30));

  // ---- Talking to the server

  async function post(path, body, patient = true) {
    for (let attempt = 0; ; attempt++) {
      let response = null;
      try {
        const headers = { "content-type": "application/json" };
        response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
      } catch { /* no connection: as a server that is down */ }
      if (response?.ok) return response.json();
      if (response?.status === 401) return lost(WORDS.link);
      if (response && response.status < 500 && response.status !== 429) throw new Error(WORDS.broken);
      if (!patient || attempt >= RETRY_MS.length) throw new Error(WORDS.offline);
      note(WORDS.connecting);
      await sleep(RETRY_MS[attempt]);
    }
  }

  function lost(words) {
    now = { ...now, path: "", actions: [], waiting: false, ended: true };
    document.documentElement.dataset.layout = "page";
    document.documentElement.dataset.ready = "yes";
    paint({ left: { value: `<div class="panel"><h1 id="heading" tabindex="-1">Welcome back</h1><p>${escaped(words)}</p></div>` } });
    return null;
  }

  async function look() {
    try {
      const painting = await post("/api/look", { shown: now.shown });
      if (painting) await show(painting);
    } catch (error) {
      document.documentElement.dataset.ready = "yes";
      note(error.message, look);
    }
  }

  function newKey() {
    return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  async function act(kind, values, from, key = newKey()) {
    if (busy) return;
    setBusy(true, from);
    const { path, seen, shown } = now;
    try {
      const painting = await post("/api/act", { kind, path, seen, shown, key, values });
      if (painting) await show(painting);
      if (painting && kind === "say" && !painting.refused) emptied(values.text);
    } catch (error) {
      note(error.message, () => act(kind, values, from, key));
    }
    setBusy(false, from);
  }

  function setBusy(is, button) {
    busy = is;
    if (button) button.toggleAttribute("data-busy", is);
    refresh();
  }

  // The box is emptied once its message is accepted; what was typed since stays.
  function emptied(sent) {
    const rest = box().value.trimStart();
    paint({ box: { value: rest.startsWith(sent) ? rest.slice(sent.length) : rest }, preview: { value: "" } });
    saveSoon();
    box().focus();
  }

  // ---- The reply on its way

  let following = false;

  async function follow() {
    if (following) return;
    following = true;
    const turn = now;
    const reply = { text: "", offset: 0, done: false };
    paintChat("");
    for (let attempt = 0; now === turn && !reply.done; attempt++) {
      if (attempt) await sleep(RETRY_MS[Math.min(attempt, RETRY_MS.length) - 1]);
      const before = reply.offset;
      try {
        await read(reply, () => now === turn);
      } catch { /* dropped: read on from the offset */ }
      if (reply.offset > before) attempt = 0;
      if (attempt > 1 && !reply.done) note(WORDS.connecting);
    }
    following = false;
    if (now === turn) await look();
  }

  async function read(reply, wanted) {
    const response = await fetch(`/api/reply?offset=${reply.offset}`);
    if (response.status === 401) return lost(WORDS.link);
    if (!response.ok) throw new Error(String(response.status));
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let buffer = "", last = 0, timer = null;
    const push = () => { timer = null; last = performance.now(); if (wanted()) paintChat(reply.text); };
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const frames = (buffer + value.replace(/\r/g, "")).split("\n\n");
      buffer = frames.pop();
      for (const frame of frames) take(frame, reply);
      if (reply.done) break;
      timer ??= setTimeout(push, Math.max(0, STREAM_MS - (performance.now() - last)));
    }
    clearTimeout(timer);
    reader.cancel().catch(() => {});
    push();
  }

  function take(frame, reply) {
    const lines = Object.fromEntries(frame.split("\n").map((line) => line.split(/: ?(.*)/s)));
    if (lines.event === "done") reply.done = true;
    if (lines.event !== "delta") return;
    const { text, offset } = JSON.parse(lines.data);
    reply.text += text;
    reply.offset = offset;
  }

  // ---- Forms

  function valuesOf(form) {
    const values = {};
    for (const [name, value] of new FormData(form)) {
      const many = $(`fieldset[data-control=checkbox] [name="${CSS.escape(name)}"]`, form);
      values[name] = many ? [...(values[name] ?? []), value] : value;
    }
    return values;
  }

  function complete(form) {
    const chosen = (set) => $("input:checked", set);
    return ![...form.elements].some((field) => field.validity?.valueMissing || (field.required && !field.value.trim()))
      && $$("fieldset[data-required][data-control=checkbox]", form).every(chosen);
  }

  // Buttons are open when their action is on offer, their form complete and nothing is on its way.
  function refresh() {
    for (const form of $$("form[data-act]")) {
      const offered = now.actions.includes(form.dataset.act);
      const full = complete(form);
      const button = $("[type=submit]", form);
      if (button) button.disabled = !(offered && full) || busy;
      const hint = $("[data-hint]", form);
      if (hint) hint.textContent = busy && offered ? WORDS.busy : offered && !full ? WORDS.hint : "";
    }
    paint({ send: { interactive: now.actions.includes("say") && !busy } });
  }

  function faults(found) {
    for (const line of $$(".fault")) line.hidden = true;
    for (const control of $$("[aria-invalid]")) control.removeAttribute("aria-invalid");
    let first = null;
    for (const [name, text] of Object.entries(found ?? {})) {
      const field = $(`[data-field="${CSS.escape(name)}"]`);
      const line = field && $(".fault", field);
      if (!line) continue;
      line.textContent = text;
      line.hidden = false;
      for (const control of $$("input, textarea", field)) {
        control.setAttribute("aria-invalid", "true");
        control.setAttribute("aria-describedby", [line.id, $(".help", field)?.id].filter(Boolean).join(" "));
        first ??= control;
      }
    }
    first?.focus();
  }

  // ---- Drafts and preview

  function draft() {
    const values = Object.assign({}, ...$$("form[data-act]").map(valuesOf));
    if (now.chat) values.text = box()?.value ?? "";
    return { path: now.path, values };
  }

  function saveSoon() {
    clearTimeout(unsaved);
    unsaved = setTimeout(save, DRAFT_MS);
  }

  async function save() {
    unsaved = null;
    if (!now.path || now.ended) return;
    try {
      await post("/api/draft", draft(), false);
      const mark = $("#saved");
      if (mark) mark.textContent = WORDS.saved;
    } catch { /* the next pause in typing tries again */ }
  }

  function saveAtOnce() {
    if (unsaved === null) return;
    clearTimeout(unsaved);
    unsaved = null;
    const headers = { "content-type": "application/json" };
    fetch("/api/draft", { method: "POST", headers, body: JSON.stringify(draft()), keepalive: true }).catch(() => {});
  }

  function preview() {
    const text = box()?.value ?? "";
    const worth = now.chat && /\\\(|\\\[|\$|`|\*|^#|^\s*[-\d]/m.test(text);
    paint({ preview: { value: worth ? shown(text, now.dollars) : "" } });
  }

  // ---- What people do

  function say() {
    if (busy || !now.actions.includes("say")) return;
    const text = box().value.trim();
    if (!text) return note(WORDS.blank), box().focus();
    act("say", { text }, $("#send"));
  }

  async function copyCode(button) {
    const code = document.getElementById(button.dataset.copy);
    getSelection().selectAllChildren(code); // where there is no clipboard (plain http) the code is at least selected
    try { await navigator.clipboard.writeText(code.textContent); } catch { document.execCommand("copy"); }
    button.textContent = WORDS.copied;
  }

  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-act]");
    if (!form) return;
    event.preventDefault();
    act(form.dataset.act, valuesOf(form), $("[type=submit]", form));
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.id === "send") say();
    else if (button.dataset.act) act(button.dataset.act, {}, button);
    else if (button.dataset.copy) copyCode(button);
    else if ("again" in button.dataset) { const { again } = note; note(""); again?.(); }
  });

  document.addEventListener("input", (event) => {
    if (!event.target.closest("form[data-act], #box")) return;
    saveSoon();
    refresh();
    if (event.target === box()) { clearTimeout(preview.timer); preview.timer = setTimeout(preview, 150); }
  });

  // Enter sends, Shift+Enter makes a line; where a finger types, Enter makes a line as everywhere else on a phone.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.target !== box() || event.isComposing) return;
    const sends = event.ctrlKey || event.metaKey || !(event.shiftKey || matchMedia("(pointer: coarse)").matches);
    event.stopPropagation();
    if (!sends) return;
    event.preventDefault();
    say();
  }, true);

  for (const kind of ["copy", "cut", "dragstart", "contextmenu"]) {
    document.addEventListener(kind, (event) => {
      const from = kind === "dragstart" || kind === "contextmenu" ? event.target : getSelection().anchorNode;
      if (!(from?.closest ? from : from?.parentElement)?.closest("[data-nocopy]")) return;
      event.preventDefault();
      note(WORDS.nocopy);
    });
  }

  addEventListener("pagehide", saveAtOnce);
  document.addEventListener("visibilitychange", () => document.hidden && saveAtOnce());
  addEventListener("pageshow", (event) => event.persisted && look());

  // Gradio builds itself after this script has run, and calls begin() when its bus is there.
  function begin() {
    if (begin.done) return;
    begin.done = true;
    const line = $("#note");
    line?.setAttribute("role", "status");
    line?.setAttribute("aria-live", "polite");
    look();
  }

  if (window.gradio_config) window.gradio_config.root = location.origin; // the page's bytes are the same on every host
  window.parley = { begin, updates, paint, shown };
})();
