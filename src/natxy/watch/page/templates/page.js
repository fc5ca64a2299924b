// SPDX-License-Identifier: Apache-2.0
// Shows what the server sends, and connects again when the server was gone.
const connection = document.getElementById("connection");
const AGAIN_MS = 2000;
const TITLE = document.title;
let going = false;

function told(text, kind) {
  connection.textContent = text;
  connection.className = kind;
}

// What has ended may be resumed, which the page would show.
function connected() {
  told(going ? "live" : "connected", "good");
}

function showHtml(name, html) {
  const part = document.getElementById(name);
  const inner = () => [...part.querySelectorAll("a, .scroll")];
  const before = inner();
  const focused = before.indexOf(document.activeElement);
  const scrolled = before.map((element) => element.scrollLeft);
  // The server has escaped every text of the run, and the page's policy forbids scripts within it.
  part.innerHTML = html;
  // What a reader has reached by keyboard or scrolled to stays where it was.
  inner().forEach((element, number) => {
    element.scrollLeft = scrolled[number] ?? 0;
    if (number === focused) element.focus({ preventScroll: true });
  });
  showTitle();
}

function showLog(text) {
  const log = document.getElementById("log");
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  log.textContent = text;
  document.getElementById("logged").hidden = !text;
  if (atEnd) log.scrollTop = log.scrollHeight;
}

// How far it is can be read in the browser's list of tabs as well.
function showTitle() {
  const bar = document.querySelector("#state progress");
  going = Boolean(bar && bar.value < bar.max);
  if (connection.className === "good") connected();
  document.title = bar ? `${Math.floor((100 * bar.value) / bar.max)} % · ${TITLE}` : TITLE;
}

// Charts are drawn by a script that takes longer to arrive; the latest of each waits for it.
window.waiting = {};
function showChart(name, spec) {
  if (window.drawLater) window.drawLater(name, spec);
  else window.waiting[name] = spec;
}

function connect() {
  const source = new EventSource("events");
  source.onopen = connected;
  source.onerror = () => {
    told("the server of this page does not answer; trying again", "lost");
    // A browser gives up after some errors.
    if (source.readyState === EventSource.CLOSED) setTimeout(connect, AGAIN_MS);
  };
  for (const name of ["state", "plan"]) {
    source.addEventListener(name, (message) => showHtml(name, JSON.parse(message.data)));
  }
  source.addEventListener("log", (message) => showLog(JSON.parse(message.data)));
  for (const name of ["search", "course"]) {
    source.addEventListener(name, (message) => showChart(name, JSON.parse(message.data)));
  }
}

const firstLog = document.getElementById("log");
firstLog.scrollTop = firstLog.scrollHeight;
showTitle();
connect();
