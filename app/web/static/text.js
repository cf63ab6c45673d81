// What people and models wrote, made ready for Gradio's Markdown, so that it shows every character they wrote.
// Texts are split as app/web/markdown.py splits them.

// Code is left alone, formulas keep their delimiters; elsewhere what looks like a tag, an entity or an image is shown
// as typed.
const SPLIT =
  /(^ {0,3}(```+(?!`)|~~~+(?!~))[^\n]*\n(?:[\s\S]*?^ {0,3}\2[^\n]*$|[\s\S]*$(?![\s\S]))|(?<!`)(`+)(?!`)[\s\S]+?(?<!`)\3(?!`))|(\\\([\s\S]{1,2000}?\\\)|\\\[[\s\S]{1,2000}?\\\]|\$\$[\s\S]{1,2000}?\$\$)|(?<![\\$])\$(?![\s$])([^$\n]*?(?<![\s\\]))\$(?![\d$])/gm;

// A line that is indented may be code, where an entity would be shown as such: there an invisible joiner breaks the tag.
const typed = (line) =>
  /^( {4}|\t)/.test(line)
    ? line.replace(/<(?=[a-z/!?])|&(?=#?\w+;)/gi, "$&\u2060")
    : line.replace(/&(?=#?\w+;)/g, "&amp;").replace(/</g, "&lt;").replace(/!\[/g, "!\\[");

// A link leads to the web or to a mail; any other is shown as typed, as is what Gradio would draw a diagram of.
const ELSEWHERE = /\](?=\(\s*<?\s*(?!https?:|mailto:)[a-z][\w+.-]*:)|^(?=[ >]*\[[^\]\n]+\]:\s*<?(?!https?:|mailto:)[a-z][\w+.-]*:)/gim;
const still = (t) => t.replace(/(`{3}|~{3})(\s*)(?=mermaid)/gi, "$1$2\u2060");

// Up to here a text is rendered in a moment. MARKS are as many as a long answer full of formulas has twice over.
const MARKS = 800, FORMULAS = 200, COLUMNS = /(?:\|[^|\n]*){31}/, DEEP = /^(?:[ \t]*(?:>|[*+-](?=[ \t]))){20}|^[ \t]{40,}[>*+-]/m;

// A text that is not is shown as it was typed.
function heavy(text) {
  const marks = text.match(/[[\]|*_`~<$\n&!]|\\[([]/g)?.length ?? 0;
  return marks > MARKS || (text.match(/\\[([]|\$\$?/g)?.length ?? 0) > FORMULAS || COLUMNS.test(text) || DEEP.test(text);
}

function asTyped(text) {
  const fence = "~".repeat(3 + Math.max(0, ...(text.match(/~+/g) ?? []).map((run) => run.length)));
  return `${fence}text\n${text}\n${fence}`;
}

export function shown(text, dollars) {
  if (heavy(text)) return asTyped(text);
  const plain = (t) => still(t.replace(ELSEWHERE, "\\$&").replace(/^.*$/gm, typed));
  const maths = (t) => (depth(t) > 40 ? "`" + t + "`" : t.replace(/</g, "\\lt "));
  let out = "";
  let end = 0;
  for (const found of text.matchAll(SPLIT)) {
    const [all, code, , , formula, dollar] = found;
    out += plain(text.slice(end, found.index));
    if (code) out += still(all);
    else if (formula) out += maths(formula);
    else out += dollars ? maths(`\\(${dollar}\\)`) : plain(all);
    end = found.index + all.length;
  }
  return out + plain(text.slice(end));
}

function depth(formula) {
  let deep = 0, deepest = 0;
  for (const c of formula) deepest = Math.max(deepest, (deep += (c === "{") - (c === "}")));
  const rows = formula.match(/(?:\\[a-z]+\s*\{?\s*)+/gi) ?? [];
  return Math.max(deepest, formula.split(/\\(?:sqrt|frac|left|begin)/).length - 1, ...rows.map((row) => row.split("\\").length - 1));
}

export const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
