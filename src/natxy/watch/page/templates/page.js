// SPDX-License-Identifier: Apache-2.0
// Shows what the server sends, and connects again when the server was gone.
const connection = document.getElementById("connection");
const AGAIN_MS = 2000;

function told(text, kind) {
  connection.textContent = text;
  connection.className = kind;
}

function showState(html) {
  // The server has escaped every text of the run, and the page's policy forbids scripts within it.
  document.getElementById("state").innerHTML = html;
}

function showLog(text) {
  const log = document.getElementById("log");
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  log.textContent = text;
  log.hidden = !text;
  if (atEnd) log.scrollTop = log.scrollHeight;
}

// Charts are drawn by a script that takes longer to arrive; the latest of each waits for it.
window.waiting = {};
function showChart(name, spec) {
  if (window.drawLater) window.drawLater(name, spec);
  else window.waiting[name] = spec;
}

function connect() {
  const source = new EventSource("events");
  source.onopen = () => told("live", "good");
  source.onerror = () => {
    told("the server of this page does not answer; trying again", "lost");
    // A browser gives up after some errors.
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN_MS);
  };
  source.addEventListener("state", (message) => showState(JSON.parse(message.data)));
  source.addEventListener("log", (message) => showLog(JSON.parse(message.data)));
  for (const name of ["search", "course"]) {
    source.addEventListener(name, (message) => showChart(name, JSON.parse(message.data)));
  }
}

connect();
