// Shows the report in place of the page that waits for it, without a reload that would interrupt who is reading that.

const AGAIN_MS = 3000, NOT_YET = 202;

async function look() {
  const answer = await fetch(location.href).catch(() => null);
  if (!answer || answer.status === NOT_YET) return setTimeout(look, AGAIN_MS);
  const page = await answer.text();
  document.open();
  document.write(page);
  document.close();
}

setTimeout(look, AGAIN_MS);
