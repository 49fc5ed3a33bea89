// A pad to sign on with mouse, finger or pen. It hands over every position that the device reported, with the time of
// the event and not of the drawing, as plain numbers; pad.py checks them.

const TELL = 8000;                       // milliseconds after which what the server did not answer is sent again
const LONGEST = 60000, MOST = 110000;    // milliseconds and samples of one drawing; the server has the last word
const MARK = "qpwl-pad-";                // what a reload finds of a drawing that was not handed over
const AGAIN = "please sign again.";

function create(root, key) {
  const get = name => root.querySelector(`.${name}`);
  const canvas = get("ink"), says = get("says"), pen = canvas.getContext("2d");
  const button = {undo: get("undo"), clear: get("clear"), watch: get("watch"), done: get("done")};
  let strokes = [], device = "mouse", active = null, box = null, data = {}, tell = () => {}, painting = 0;
  let sent = null, retry = 0, playing = null, clock = 0, number = 0;

  // --- what is drawn
  const colourOf = name => getComputedStyle(root).getPropertyValue(`--st-${name}`).trim();
  const round = x => Math.round(x * 100) / 100;

  function trace(stroke, until = Infinity) {
    // one smooth line through the samples of a stroke, [t, x, y, pressure, …]
    pen.beginPath();
    pen.moveTo(stroke[1], stroke[2]);
    let i = 4;
    for (; i + 6 < stroke.length && stroke[i + 4] <= until; i += 4)
      pen.quadraticCurveTo(stroke[i + 1], stroke[i + 2], (stroke[i + 1] + stroke[i + 5]) / 2,
                           (stroke[i + 2] + stroke[i + 6]) / 2);
    if (i < stroke.length && stroke[i] <= until) pen.lineTo(stroke[i + 1], stroke[i + 2]);
    else if (i === 4) pen.lineTo(stroke[1] + 0.01, stroke[2]);
    pen.stroke();
  }

  function paint() {
    painting = 0;
    const {width, height} = canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
    if (!width) return;
    const wide = Math.round(width * ratio), high = Math.round(height * ratio);
    if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    pen.lineCap = pen.lineJoin = "round";
    pen.strokeStyle = colourOf("border-color") || "#888";
    pen.lineWidth = 1;
    pen.setLineDash([6, 6]);
    pen.beginPath();
    pen.moveTo(0.06 * width, 0.74 * height);
    pen.lineTo(0.94 * width, 0.74 * height);
    pen.stroke();
    pen.setLineDash([]);
    if (data.ghost && (playing || data.trace)) ghost(width, height);
    if (!strokes.length && !playing && data.hint) {
      pen.fillStyle = colourOf("text-color");
      pen.globalAlpha = 0.62;
      pen.font = `17px ${colourOf("font") || "sans-serif"}`;
      pen.textAlign = "center";
      pen.fillText(data.hint, width / 2, 0.5 * height, 0.9 * width);
      pen.globalAlpha = 1;
    }
    pen.strokeStyle = data.colour || "#0072B2";
    pen.lineWidth = 2.6;
    for (const stroke of strokes) trace(stroke);
  }

  function ghost(width, height) {
    // somebody else's ink, fitted into the pad: as far as its time has come, or all of it, faintly
    const {strokes: theirs, left, top, wide, high} = data.ghost;
    const scale = Math.min(0.88 * width / wide, 0.84 * height / high);
    const until = playing ? performance.now() - playing : Infinity;
    pen.save();
    pen.translate((width - scale * wide) / 2 - scale * left, (height - scale * high) / 2 - scale * top);
    pen.scale(scale, scale);
    pen.lineWidth = 2.6 / scale;
    pen.strokeStyle = data.ghost.colour;
    pen.globalAlpha = playing ? 0.9 : 0.25;
    for (const stroke of theirs) if (stroke[0] <= until) trace(stroke, until);
    pen.restore();
    if (!playing) return;
    const ends = theirs.at(-1).at(-4);
    root.dataset.playing = "yes";
    if (until <= ends + 400) return repaint();
    playing = null;
    delete root.dataset.playing;
    say(`That was it, at true speed: ${(ends / 1000).toFixed(1)} s.`);
    repaint();
  }

  const repaint = () => { painting ||= requestAnimationFrame(paint); };

  // --- what is said
  function say(text, alarm = false, answer = false) {
    says.textContent = text;
    says.classList.toggle("alarm", alarm);
    says.classList.toggle("answer", answer);
  }

  function counted() {
    const samples = strokes.reduce((sum, stroke) => sum + stroke.length / 4, 0);
    if (!samples) return say("");
    const inside = strokes.reduce((sum, stroke) => sum + stroke.at(-4) - stroke[0], 0);
    const seconds = (strokes.at(-1).at(-4) - strokes[0][0]) / 1000;
    const rate = inside > 50 ? `, ${Math.round(1000 * samples / inside)} positions per second` : "";
    say(`${strokes.length} ${strokes.length === 1 ? "stroke" : "strokes"}, ${seconds.toFixed(1)} s${rate}`);
  }

  function refresh() {
    const some = strokes.length > 0 && active === null;
    button.undo.disabled = button.clear.disabled = !some;
    button.done.disabled = !some || sent !== null;
    button.watch.hidden = !data.ghost;
    button.watch.disabled = active !== null;
    button.done.textContent = sent === null ? "Done" : "Looking …";
    try {
      if (strokes.length) sessionStorage.setItem(MARK + key, "open");
      else sessionStorage.removeItem(MARK + key);
    } catch { /* a browser that keeps nothing has nothing to say after a reload */ }
    repaint();
  }

  function lose(why) {
    // What is not whole is not handed over: the person is told, and signs again.
    finish();
    strokes = [];
    say(why, true);
    refresh();
  }

  // --- what the device reports
  function add(event) {
    const stroke = strokes.at(-1), last = stroke.length ? stroke.at(-4) : strokes.at(-2)?.at(-4) ?? 0;
    const pressure = Math.min(Math.max(event.pressure || 0, 0), 1);
    stroke.push(round(Math.max(event.timeStamp, last)), round(event.clientX - box.left),
                round(event.clientY - box.top), round(pressure));
    number += 1;
  }

  function addAll(event) {
    const all = event.getCoalescedEvents?.() ?? [];
    for (const each of all.length ? all : [event]) add(each);
  }

  function finish() {
    active = null;
    clearInterval(clock);
    canvas.classList.remove("busy");
  }

  canvas.addEventListener("pointerdown", event => {
    if (event.button !== 0 && event.pointerType === "mouse") return;
    event.preventDefault();
    canvas.focus({preventScroll: true});
    if (active !== null) return say("One at a time: a second finger is not counted.", true);
    if (!event.isPrimary) return;
    if (playing) [playing] = [null];
    delete root.dataset.playing;
    active = event.pointerId;
    device = ["touch", "pen"].includes(event.pointerType) ? event.pointerType : "mouse";
    box = canvas.getBoundingClientRect();
    canvas.setPointerCapture(active);
    canvas.classList.add("busy");
    if (!strokes.length) number = 0;
    strokes.push([]);
    add(event);
    if (data.seconds) countDown();
    refresh();
  });

  canvas.addEventListener("pointermove", event => {
    if (event.pointerId !== active) return;
    addAll(event);
    repaint();
    if (event.timeStamp - strokes[0][0] > LONGEST || number > MOST)
      lose(`That is longer than a minute, more than is kept: ${AGAIN}`);
  });

  canvas.addEventListener("pointerup", event => {
    if (event.pointerId !== active) return;
    add(event);
    finish();
    counted();
    refresh();
  });

  canvas.addEventListener("pointercancel", event => {
    if (event.pointerId === active) lose(`The browser took the pointer away in the middle: ${AGAIN}`);
  });
  canvas.addEventListener("lostpointercapture", event => {
    if (event.pointerId === active) lose(`The pointer was lost in the middle: ${AGAIN}`);
  });
  canvas.addEventListener("contextmenu", event => event.preventDefault());
  canvas.addEventListener("touchstart", event => event.preventDefault(), {passive: false});
  const slept = () => {
    if (document.hidden && active !== null) lose(`This tab went to sleep in the middle: ${AGAIN}`);
  };
  document.addEventListener("visibilitychange", slept);

  function countDown() {
    if (strokes.length > 1) return;
    const start = performance.now();
    clock = setInterval(() => {
      const left = data.seconds - (performance.now() - start) / 1000;
      if (left > 0) return say(`Keep going: ${Math.ceil(left)} s`);
      const held = active;
      finish();
      if (held !== null && canvas.hasPointerCapture(held)) canvas.releasePointerCapture(held);
      hand();
    }, 200);
  }

  // --- what is handed over
  function hand() {
    if (!strokes.length || sent !== null) return;
    const start = strokes[0][0];
    const plain = strokes.map(stroke => stroke.map((x, i) => i % 4 ? x : round(x - start)));
    sent = {id: `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`, device, strokes: plain};
    strokes = [];
    send();
    say("");
    refresh();
  }

  function send() {
    tell(sent);
    retry = setTimeout(() => {
      say("The server has not answered yet; what you drew is kept here and sent again.", true);
      if (sent) send();
    }, TELL);
  }

  button.undo.addEventListener("click", () => { strokes.pop(); counted(); refresh(); });
  button.clear.addEventListener("click", () => { strokes = []; counted(); refresh(); });
  button.done.addEventListener("click", hand);
  button.watch.addEventListener("click", () => {
    strokes = [];
    playing = performance.now();
    say("");
    refresh();
  });
  canvas.addEventListener("keydown", event => {
    if (event.key === "Enter" && !button.done.disabled) hand();
    else if (event.key === "Escape" && !button.clear.disabled) button.clear.click();
    else if (event.key === "z" && (event.ctrlKey || event.metaKey) && !button.undo.disabled) button.undo.click();
    else return;
    event.preventDefault();
  });

  const sized = new ResizeObserver(repaint);
  sized.observe(canvas);
  const scheme = new MutationObserver(repaint);       // Streamlit writes the theme's colours where they are used
  scheme.observe(document.documentElement, {attributes: true, subtree: false});
  const dark = matchMedia("(prefers-color-scheme: dark)"), changed = () => setTimeout(repaint, 300);
  dark.addEventListener("change", changed);
  try {
    if (sessionStorage.getItem(MARK + key)) {
      sessionStorage.removeItem(MARK + key);
      say(`The page was loaded again before Done: that drawing is gone, ${AGAIN}`, true);
    }
  } catch { /* as above */ }

  return {
    update(now, teller) {
      data = now;
      tell = teller;
      canvas.setAttribute("aria-label", data.label);
      if (sent && data.seen === sent.id) {
        clearTimeout(retry);
        sent = null;
        if (data.wrong) say(data.wrong, true);
        else if (!strokes.length && data.said) say(data.said, false, true);
      }
      refresh();
    },
    end() {
      clearTimeout(retry);
      clearInterval(clock);
      sized.disconnect();
      scheme.disconnect();
      dark.removeEventListener("change", changed);
      document.removeEventListener("visibilitychange", slept);
    },
  };
}

export default function ({data, key, parentElement, setTriggerValue}) {
  const root = parentElement.querySelector(".pad"), turn = root.turn = Symbol("a call of this function");
  root.pad ??= create(root, data.key);
  root.pad.update(data, drawn => setTriggerValue("drawn", drawn));
  return () => {
    if (root.turn !== turn) return;        // the next call has taken over
    root.pad.end();
    root.pad = undefined;
  };
}
