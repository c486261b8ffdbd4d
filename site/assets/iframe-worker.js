// Browsers refuse a Worker for a page that was opened from a file. The search then runs in a frame of the page, which has no
// network either. Elsewhere the browser's own Worker stays.
if (location.protocol === "file:" && window.Worker) {
  window.Worker = class FrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.pending = [];
      this.onmessage = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      // The script of the search takes its file from importScripts, and answers with postMessage.
      inner.importScripts = (...urls) => urls.reduce((before, one) => before.then(() => this.load(one)), Promise.resolve());
      inner.postMessage = (data) => setTimeout(() => this.answer(data));
      this.load(url).then(() => {
        this.ready = true;
        this.pending.splice(0).forEach((data) => this.deliver(data));
      });
    }
    load(url) {
      return new Promise((done, failed) => {
        const script = this.frame.contentDocument.createElement("script");
        script.src = new URL(url, location.href).href;
        script.onload = done;
        script.onerror = failed;
        this.frame.contentDocument.body.append(script);
      });
    }
    deliver(data) {
      this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
    }
    postMessage(data) {
      if (this.ready) this.deliver(data); else this.pending.push(data);
    }
    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    terminate() {
      this.frame.remove();
    }
  };
}
