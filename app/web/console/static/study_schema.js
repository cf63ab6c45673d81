// What the JSON Schema of study files says of a place in a YAML text: the keys and values that may stand there, and the
// description of a key. The text need not be complete: only the lines around the place are read, by their indentation.

const LINE = /^(\s*)((?:- +)*)(?:("[^"]*"|'[^']*'|[^\s"'#{}[\],&*!|>%@`-][^#{}[\],]*?|-[^\s#{}[\],][^#{}[\],]*?)\s*:(?:\s+(.*)|))?$/;
const BLOCK = /^[|>][-+0-9]*\s*(#.*)?$/;

// The place at an offset: the way to it from the root, as steps {key, near}, where `near` has the keys beside a key with
// their values and a `key` of null is an item of a list; and what stands at the place: {kind, key, word, from}. Null in
// a comment, in a text of several lines, and where no key or value can be.
export function placeAt(text, offset) {
  const lines = text.split("\n"), row = text.slice(0, offset).split("\n").length - 1;
  const start = offset - (text.slice(0, offset).length - text.lastIndexOf("\n", offset - 1) - 1);
  const before = text.slice(start, offset);
  if (/(^|\s)#/.test(before.replace(/"[^"]*"|'[^']*'/g, ""))) return null;
  const [, indent, dashes, rest] = /^(\s*)((?:-(?: +|$))*)(.*)$/.exec(before);
  const colon = /^("[^"]*"|'[^']*'|[^"'{}[\],]*?):(\s+|$)/.exec(rest);
  const column = indent.length + dashes.length;
  const above = ancestors(lines, row, indent.length, dashes);
  if (above === null) return null;
  const near = beside(lines, row, column);
  if (!colon) return /^[[{]/.test(rest) ? inside(rest, above, start + column) : place("key", null, rest, above, near, start + column);
  const key = unquoted(colon[1]), value = rest.slice(colon[0].length), from = start + column + colon[0].length;
  delete near[key];
  if (/^[[{]/.test(value)) return inside(value, [...above, { key, near }], from);
  return colon[2] || !value ? place("value", key, value, above, near, from) : null;
}

function place(kind, key, word, path, near, from) {
  const bare = word.replace(/^["']/, "");
  return { kind, key, word: bare, path, near, from: from + word.length - bare.length };
}

// Within `{...}` or `[...]` on one line, which begins at `from`.
function inside(text, path, from) {
  const open = [];
  let key = null, begun = 0, quote = "";
  for (let i = 0; i < text.length; i += 1) {
    const sign = text[i], top = open.at(-1);
    if (quote) quote = sign === quote ? "" : quote;
    else if (/["']/.test(sign) && !text.slice(begun, i).trim()) quote = sign;
    else if (/[[{]/.test(sign)) { open.push({ list: sign === "[", key, near: {} }); key = null; begun = i + 1; }
    else if (/[\]}]/.test(sign)) { if (!open.length) return null; key = open.pop().key; begun = i + 1; }
    else if (sign === "," && top) { if (key !== null) top.near[key] = unquoted(text.slice(begun, i)); key = null; begun = i + 1; }
    else if (sign === ":" && top && !top.list && key === null && /^(\s|$)/.test(text.slice(i + 1))) { key = unquoted(text.slice(begun, i)); begun = i + 1; }
  }
  if (!open.length) return null;
  const way = [...path];
  open.forEach((one, i) => {
    if (one.key !== null) way.push({ key: one.key, near: open[i - 1].near });
    if (one.list) way.push({ key: null, near: {} });
  });
  const word = text.slice(begun).trimStart(), at = from + text.length - word.length, top = open.at(-1);
  if (top.list) return place("value", null, word, way, {}, at);
  return key === null ? place("key", null, word, way, top.near, at) : place("value", key, word, way, top.near, at);
}

// The steps above a line, from the root; null in a text of several lines.
function ancestors(lines, row, indent, dashes) {
  const found = [...dashes.matchAll(/-/g)].map(() => ({ key: null, near: {} }));
  let [need, listed] = [indent, found.length > 0];
  for (let i = row - 1; i >= 0 && (need > 0 || listed); i -= 1) {
    for (const { column, key, value } of elements(lines[i]).reverse()) {
      if (key !== null && BLOCK.test(value) && column < need) return null;
      if (key === null ? column < need : column < need || (listed && column === need)) {
        found.unshift({ key, near: key === null ? {} : without(beside(lines, i, column), key) });
        [need, listed] = [column, key === null];
      }
    }
  }
  return found;
}

// The dashes and the key of a line, each with its column.
function elements(line) {
  const parts = LINE.exec(line.replace(/\s+$/, "").replace(/^(\s*(?:- +)*-)$/, "$1 "));
  if (!parts || /^\s*#/.test(line)) return [];
  const [whole, indent, dashes, key, value] = parts;
  const found = [...dashes.matchAll(/-/g)].map((dash) => ({ column: indent.length + dash.index, key: null, value: "" }));
  return key === undefined || !whole.trim() ? found : [...found, { column: indent.length + dashes.length, key: unquoted(key), value: value ?? "" }];
}

// The keys of the mapping to which a line's column belongs, with their values.
function beside(lines, row, column) {
  const found = {};
  const take = (i) => {
    for (const { column: at, key, value } of elements(lines[i])) if (at === column && key !== null) found[key] = unquoted(value);
  };
  const ends = (i) => lines[i].trim() && !/^\s*#/.test(lines[i]) && lines[i].search(/\S/) < column;
  take(row);
  if (!ends(row)) for (let i = row - 1; i >= 0; i -= 1) { take(i); if (ends(i)) break; }
  for (let i = row + 1; i < lines.length && !ends(i); i += 1) take(i);
  return found;
}

const without = (near, key) => Object.fromEntries(Object.entries(near).filter(([name]) => name !== key));

function unquoted(text) {
  const bare = text.replace(/\s+#.*$/, "").trim();
  return /^(["']).*\1$/.test(bare) ? bare.slice(1, -1) : bare;
}

// ---- The schema: a part of it is a list of alternatives without references.

function alternatives(schema, part) {
  if (part === true || !part) return [];
  if (part.$ref) return alternatives(schema, { ...part, ...schema.$defs[part.$ref.split("/").pop()], $ref: undefined });
  const inner = part.anyOf ?? part.oneOf ?? part.allOf;
  return inner ? inner.flatMap((one) => alternatives(schema, one)) : [part];
}

// The alternatives that the keys beside a place allow; all if none does.
function fitting(parts, near) {
  const fits = parts.filter((part) => Object.entries(near).every(([key, value]) => {
    const own = part.properties?.[key];
    if (!own) return part.patternProperties || part.additionalProperties || part.additionalProperties === undefined;
    return own.const === undefined || own.const === value;
  }));
  return fits.length ? fits : parts;
}

const named = (part, key) => part.properties?.[key]
  ?? Object.entries(part.patternProperties ?? {}).find(([pattern]) => new RegExp(pattern, "u").test(key))?.[1]
  ?? (typeof part.additionalProperties === "object" ? part.additionalProperties : undefined);

function partsAt(schema, place) {
  let parts = alternatives(schema, schema);
  for (const { key, near } of place.path) {
    const next = key === null ? parts.map((part) => part.items) : fitting(parts, near).map((part) => named(part, key));
    parts = next.filter(Boolean).flatMap((part) => alternatives(schema, part));
  }
  return fitting(parts, place.near);
}

const unique = (found) => [...new Map(found.map((one) => [one.label, one])).values()];

// What may stand at a place: {label, info} for each, those that must be there first.
export function suggestions(schema, place) {
  const parts = partsAt(schema, place);
  const item = place.kind === "key" && place.path.at(-1)?.key === null; // an item of a list may be a value, too
  const keys = place.kind === "value" ? [] : parts.flatMap((part) => Object.entries(part.properties ?? {})
    .filter(([key]) => !(key in place.near) || key === place.word)
    .map(([key, own]) => ({ label: key, key: true, info: own.description ?? "", required: part.required?.includes(key) ?? false })));
  const own = place.key === null ? (item || place.kind === "value" ? parts : []) : parts.map((part) => named(part, place.key)).filter(Boolean);
  const values = own.flatMap((part) => alternatives(schema, part)).flatMap(valuesOf)
    .map((value) => ({ label: String(value), key: false, info: kindOf(parts, place.key, value)?.description ?? "", required: false }));
  return unique([...keys.sort((one, other) => other.required - one.required), ...values]);
}

// The alternative of which a key has this value, such as the kind of step `chat`.
const kindOf = (parts, key, value) => parts.find((part) => part.properties?.[key]?.const === value);

function valuesOf(part) {
  if (part.const !== undefined) return [part.const];
  return part.enum ?? (part.type === "boolean" ? [true, false] : []);
}

// What a key means: {key, info, values}; null for a key that the schema does not describe.
export function explained(schema, place) {
  const key = place.kind === "key" ? place.word.trim() : place.key;
  if (!key) return null;
  const parts = partsAt(schema, { ...place, near: without(place.near, key) });
  const own = parts.map((part) => named(part, key)).filter(Boolean);
  if (!own.length) return null;
  const whole = own.flatMap((part) => alternatives(schema, part));
  const kind = kindOf(parts, key, place.kind === "key" ? place.near[key] : place.word.trim());
  const info = kind?.description ?? [...own, ...whole].find((part) => part.description)?.description ?? "";
  const values = unique(whole.flatMap(valuesOf).map((value) => ({ label: String(value) }))).map(({ label }) => label);
  const given = own[0].default;
  const standard = ["string", "number", "boolean"].includes(typeof given) && given !== "" ? String(given) : "";
  return { key, info, values, standard };
}
