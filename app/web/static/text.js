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

export function shown(text, dollars) {
  const plain = (t) => t.replace(/^.*$/gm, typed);
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

export const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
