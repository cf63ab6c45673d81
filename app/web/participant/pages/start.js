// In a page of another site the browser may keep no cookie: then the tab knows its session (embed.js).
for (const field of document.querySelectorAll("[data-kept]")) {
  try { field.value = sessionStorage.getItem(field.dataset.kept) ?? ""; } catch { /* nothing can be kept */ }
}
// Times are shown, and the next part opens, in the time zone of this browser.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
for (const place of document.querySelectorAll("[data-zone]")) place[place.matches("input") ? "value" : "textContent"] = timeZone;
const spoken = new Intl.DateTimeFormat(document.documentElement.lang, { dateStyle: "full", timeStyle: "short" });
for (const time of document.querySelectorAll("time")) time.textContent = spoken.format(new Date(time.dateTime));
// When it is time, the page is asked for anew, once the server answers. By the clock on the wall, as timers stop while a
// computer sleeps.
const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));
const answers = () => fetch(location.href, { method: "HEAD" }).then(({ status }) => status < 500, () => false);
for (const { dataset } of document.querySelectorAll("[data-wait-ms]")) {
  (async () => {
    for (const begun = Date.now(); Date.now() - begun < dataset.waitMs;) await sleep(1000);
    while (!(await answers())) await sleep(5000 * (1 + Math.random())); // not all at once when it is back
    location.replace(location.href);
  })();
}
