// Inlined in the page, before all scripts and styles. It says in the browser's language that the page loads, or waits for
// the connection, until page.js has painted the first screen. If one of them cannot be loaded, as during a restart of the
// server, the page reloads as soon as the server answers; Gradio would silently continue without it.

(() => {
  const EVERY_MS = 1000; // how often the server is asked whether it is there
  const MOST = 3; // times in WITHIN_MS; a part that a browser refuses for good is done without
  const WITHIN_MS = 600_000;
  const KEPT = "parley-anew";
  const FETCHED = "script[src], link[rel=stylesheet]";
  const TEXTS = JSON.parse(document.querySelector("meta[name=loading]")?.content ?? "{}");
  let waiting = false;

  const line = Object.assign(document.createElement("p"), { id: "loading", role: "status" });
  function say() {
    const tag = [...navigator.languages.map((tag) => tag.split("-")[0]), "en"].find((tag) => TEXTS[tag]);
    const { loading, waits, dir } = TEXTS[tag];
    Object.assign(line, { dir, lang: tag, textContent: waiting || !navigator.onLine ? waits : loading });
  }
  if (TEXTS.en) {
    say();
    for (const kind of ["online", "offline"]) addEventListener(kind, say);
    document.addEventListener("readystatechange", () => document.body.prepend(line), { once: true });
  }

  // Below a path of a host name, a proxy may serve the page also without the slash that its relative addresses need.
  if (!location.pathname.endsWith("/")) {
    waiting = true;
    location.replace(`${location.pathname}/${location.search}`);
  }

  // Scripts that browser extensions add, and our policy blocks, do not count.
  const ours = ({ src, href }) => new URL(src || href).origin === location.origin;
  const answers = () => fetch(location.href, { method: "HEAD" }).then(({ ok }) => ok, () => false);

  async function anew() {
    if (waiting) return;
    waiting = true;
    const times = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]").filter((time) => Date.now() - time < WITHIN_MS);
    if (times.length >= MOST) return;
    if (TEXTS.en) say();
    sessionStorage.setItem(KEPT, JSON.stringify([...times, Date.now()]));
    while (!(await answers())) await new Promise((next) => setTimeout(next, EVERY_MS));
    location.reload();
  }

  addEventListener("error", ({ target }) => target.matches?.(FETCHED) && ours(target) && anew(), true);
  addEventListener("vite:preloadError", anew);
})();
