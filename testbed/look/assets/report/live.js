// Keeps the report of a study up to date while the sweep goes on: its server sends lines of JSON as long as it is there.
(() => {
  "use strict";
  const AGAIN_MS = 1000;
  const MOST_TRIES = 3;
  const start = JSON.parse(document.getElementById("live").textContent);
  const bar = document.querySelector(".live progress");
  const line = document.querySelector(".live-line");
  const command = document.querySelector(".live-command");
  const said = document.querySelector(".live-said");
  const title = document.title;
  let version = start.version;
  let hasEnded = false;
  let saidTenths = -1;
  let tries = 0;

  // -- the report -------------------------------------------------------------------------------------------------------

  function parsed(html) {
    const made = document.createElement("template");
    made.innerHTML = html;  // the server has escaped it, as in a file; and the policy of the page lets no script of it run
    return made.content;
  }

  /** Makes the children of an element those of another one; those that are the same stay. */
  function adopt(place, wanted) {
    const there = [...place.childNodes];
    const nodes = [...wanted.childNodes];
    nodes.forEach((node, at) => {
      if (at >= there.length) place.append(node);
      else if (!there[at].isEqualNode(node)) there[at].replaceWith(node);
    });
    there.slice(nodes.length).forEach((node) => node.remove());
  }

  function show(report) {
    adopt(document.querySelector("header"), parsed(report.header));
    adopt(document.querySelector("nav ul"), parsed(report.contents));
    const main = document.querySelector("main");
    const sections = [...parsed(report.main).children];
    for (const section of [...main.children]) if (!sections.some((one) => one.id === section.id)) section.remove();
    sections.forEach((section, at) => {
      const there = document.getElementById(section.id);
      if (!there) main.insertBefore(section, main.children[at] ?? null);
      else if (section.id === "points") reportTables.update(there.querySelector("table"), section.querySelector("table"));
      else if (section.id !== "chart") adopt(there, section);
    });
    reportExplorer.update(report.explorer);
  }

  // -- how far it is ----------------------------------------------------------------------------------------------------

  function tell({ share, text, ended }) {
    hasEnded = ended;
    bar.value = share;
    bar.hidden = ended;
    line.textContent = text;
    command.textContent = ended ? start.command : "";
    document.title = ended ? title : `${Math.floor(100 * share)} % – ${title}`;
    // A screen reader hears of every tenth and of the end, not of every run.
    const tenths = ended ? 11 : Math.floor(10 * share);
    if (tenths !== saidTenths) said.textContent = ended ? `${text} ${start.command}` : text;
    saidTenths = tenths;
  }

  // -- the server -------------------------------------------------------------------------------------------------------

  function take(text) {
    tries = 0;
    const news = JSON.parse(text);
    if (news.report) {
      version = news.version;
      show(news.report);
    } else {
      tell(news);
    }
  }

  /** Reads what the server sends, to its end. */
  async function listen() {
    const answer = await fetch(`news?since=${version}`);
    if (!answer.ok) return;
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      lines.forEach(take);
    }
  }

  async function follow() {
    for (;;) {
      await listen().catch(() => {});  // the connection broke
      tries += 1;
      if (hasEnded || tries >= MOST_TRIES) break;
      await new Promise((resolve) => { setTimeout(resolve, AGAIN_MS); });
    }
    if (!hasEnded) tell({ share: bar.value, text: start.lost, ended: true });
  }

  tell(start.told);
  follow();
})();
