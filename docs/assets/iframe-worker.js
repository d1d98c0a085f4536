// Browsers allow no workers in pages opened as files; there, the search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      // Inside, the worker's postMessage would go to the frame itself.
      frame.srcdoc =
        "<script>postMessage = data => parent.postMessage(data, '*')</" + "script>" +
        `<script src="${new URL(url, location.href)}"></` + "script>"
      this.frame = frame
      this.loaded = new Promise(resolve => frame.addEventListener("load", resolve, { once: true }))
      addEventListener("message", event => {
        if (event.source === frame.contentWindow)
          this.dispatchEvent(new MessageEvent("message", { data: event.data }))
      })
      document.body.append(frame)
    }

    postMessage(data) {
      this.loaded.then(() => window.postMessage.call(this.frame.contentWindow, data, "*"))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
