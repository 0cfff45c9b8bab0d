// What the test shop's pages load: a small tracker that talks to the collector as trackers of Umami's kind do.
// <script src="/tracker.js" data-website-id data-host-url data-fetch-credentials>; used through `window.tracker`.
(() => {
  const { websiteId, hostUrl, fetchCredentials = 'omit' } = document.currentScript.dataset;
  const endpoint = `${hostUrl}/api/send`;
  /** Status and body of every answer, in order. */
  const answers = [];
  let cache;
  let id;
  let url = location.href;
  let referrer = document.referrer;
  /** One request after the other, so that each carries the token of the answer before. */
  let last = Promise.resolve();

  const pageFields = () => ({
    website: websiteId,
    screen: `${screen.width}x${screen.height}`,
    language: navigator.language,
    title: document.title,
    hostname: location.hostname,
    url,
    referrer,
    id,
  });

  async function post(type, payload) {
    const response = await fetch(endpoint, {
      method: 'POST',
      keepalive: true,
      credentials: fetchCredentials,
      headers: { 'Content-Type': 'application/json', ...(cache !== undefined && { 'x-umami-cache': cache }) },
      body: JSON.stringify({ type, payload }),
    });
    const body = await response.json();
    cache = body.cache;
    answers.push({ status: response.status, body });
  }

  function send(type, fields = {}) {
    const payload = { ...pageFields(), ...fields };
    last = last.then(() => post(type, payload));
    return last;
  }

  const pushState = history.pushState.bind(history);
  history.pushState = (state, unused, target) => {
    pushState(state, unused, target);
    referrer = url;
    url = location.href;
    send('event');
  };

  window.tracker = {
    answers,
    settled: () => last,
    track: (name, data) => send('event', { name, data }),
    identify(newId, data) {
      id = newId;
      return send('identify', { data });
    },
    measure: (vitals) => send('performance', { ...vitals, duration: 1234 }),
  };
  send('event');
})();
