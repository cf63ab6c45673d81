// A browser's translation as Chromium has it: it puts each text into two <font>s, with other words, changes the page's
// language, and does so again with whatever text comes later. Here it writes each word backwards between ⟦ and ⟧, so that
// a text that is lost, doubled or translated twice is seen.
(() => {
  const LEFT_ALONE = "script, style, noscript, textarea, input, svg, [translate=no], .notranslate, font, title";
  const translated = (text) => text.replace(/[^\s⟦⟧]+/gu, (word) => `⟦${[...word].reverse().join("")}⟧`);

  function translate(text) {
    if (!text.data.trim() || !text.parentElement || text.parentElement.closest(LEFT_ALONE)) return;
    const [outer, inner] = [document.createElement("font"), document.createElement("font")];
    for (const font of [outer, inner]) font.style.verticalAlign = "inherit";
    inner.append(translated(text.data));
    outer.append(inner);
    text.replaceWith(outer);
  }

  function all() {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    texts.forEach(translate);
    document.documentElement.lang = "xx";
    document.documentElement.classList.add("translated-ltr");
    watcher.takeRecords();
  }

  let soon = null;
  const watcher = new MutationObserver(() => (soon ??= setTimeout(() => all((soon = null)), 30)));
  const begin = () => {
    watcher.observe(document.body, { childList: true, characterData: true, subtree: true });
    all();
  };
  if (document.body) begin();
  else addEventListener("DOMContentLoaded", begin);
})();
