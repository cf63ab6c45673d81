// In a page of another site the browser may keep no cookie: then the tab knows its session (embed.js).
for (const field of document.querySelectorAll("[data-kept]")) {
  try { field.value = sessionStorage.getItem(field.dataset.kept) ?? ""; } catch { /* nothing can be kept */ }
}
