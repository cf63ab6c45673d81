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

// What is rendered in a moment has no more than this. MARKS: a long answer full of formulas has some hundreds. Formulas that
// are nested too deeply take a tab down, and so may one whose macros or switches of style unfold into such.
const MARKS = 800, FORMULAS = 200, NESTED = 40;
const COLUMNS = /(?:\|[^|\n]*){31}/;
const DEEP = /^(?:[ \t]*(?:>|[*+-](?=[ \t]))){20}|^[ \t]{40,}[>*+-]/m;
const MACROS = /\\(?:[egx]?def|(?:re|provide)?(?:new)?command|let|futurelet)(?![a-z])/i;
const SWITCHES = /\\(?:color|\w*style|huge|large|normalsize|small|tiny|\w*size|rm|bf|it|sf|tt|cal|over|atop|choose)(?![a-z])/gi;

const count = (text, signs) => text.match(signs)?.length ?? 0;

function heavy(text) {
  return count(text, /[[\]|*_`~<$\n&!]|\\[([]|www\.|:\/\//g) > MARKS || count(text, /\\[([]|\$\$?/g) > FORMULAS
    || COLUMNS.test(text) || DEEP.test(text) || nested(text) > NESTED || MACROS.test(text) || count(text, SWITCHES) > NESTED;
}

// How deeply braces, environments or commands in a row (\sqrt\sqrt\sqrt x) may nest, wherever formulas begin and end.
function nested(text) {
  let deep = 0, deepest = 0;
  for (const [sign] of text.matchAll(/\\[{}\\]|[{}]|\\(?:left|right|begin|end)(?![a-z])/g)) {
    if (["{", "\\left", "\\begin"].includes(sign)) deep++;
    else if (["}", "\\right", "\\end"].includes(sign)) deep = Math.max(0, deep - 1);
    deepest = Math.max(deepest, deep);
  }
  const rows = text.match(/(?:\\[a-z]+\s*[[{(]?\s*)+/gi) ?? [];
  return Math.max(deepest, ...rows.map((row) => count(row, /\\/g)));
}

// A text that is heavier.
function asTyped(text) {
  const fence = "~".repeat(3 + Math.max(0, ...(text.match(/~+/g) ?? []).map((run) => run.length)));
  return `${fence}text\n${text}\n${fence}`;
}

export function shown(text, dollars) {
  if (heavy(text)) return asTyped(text);
  const plain = (t) => still(t.replace(ELSEWHERE, "\\$&").replace(/^.*$/gm, typed));
  const maths = (t) => t.replace(/</g, "\\lt ");
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

export const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
