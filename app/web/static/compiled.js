// What Gradio would compile in the browser, written out as functions, so that the page needs no 'unsafe-eval': the two
// events of our layout (page.py), and the template of gr.HTML, which Handlebars makes a source of and gr.HTML compiles
// once more. Whatever else is to be compiled is left to the browser, whose policy refuses it.

const ring = (element, trigger, props) => {
  window.parleyBus = (n) => { props.value = String(n); trigger("change"); };
  window.parley?.begin();
};

const WRITTEN = new Map([
  ["ring(trigger, props);", () => ring],
  ["return (\n() => window.parley.updates()\n);", () => async () => () => window.parley.updates()],
  ['return "${value}";', () => () => "${value}"],
  ["return `${value}`;", (names) => (...values) => `${values[names.indexOf("value")]}`],
  ['return "";', () => () => ""],
  ["return ``;", () => () => ""],
]);

function written(native) {
  const made = (sources) => {
    const names = sources.map(String);
    return WRITTEN.get(names.pop()?.trim())?.(names) ?? native(...sources);
  };
  return new Proxy(native, { apply: (_, __, sources) => made(sources), construct: (_, sources) => made(sources) });
}

window.Function = written(Function);
const waiting = Object.getPrototypeOf(async () => {});
Object.defineProperty(waiting, "constructor", { value: written(waiting.constructor) });
