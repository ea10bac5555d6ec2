// The bus, by fetch alone: one POST a call; what was refused for now or got no answer is sent again.

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

export class Refused extends Error {
  constructor(status, error) {
    super(`${error.code}: ${error.message}`);
    this.status = status;
    this.code = error.code;
  }
}

export class Bus {
  constructor(url, token) {
    this.url = url;
    this.token = token;
  }

  async once(method, body, seconds = 15) {
    const response = await fetch(`${this.url}/bus/v1/${method}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${this.token}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(seconds * 1000),
    });
    const answer = await response.json();
    if (!response.ok) throw new Refused(response.status, answer.error);
    return answer;
  }

  // Only for what may be done twice; `giveUp` is asked before each further attempt.
  async call(method, body, giveUp = () => false) {
    for (let pause = 100; ; pause = Math.min(pause * 2, 5000)) {
      try {
        return await this.once(method, body);
      } catch (error) {
        const forGood = error instanceof Refused && ![429, 500, 503].includes(error.status);
        if (forGood || giveUp()) throw error;
        await sleep(pause);
      }
    }
  }
}
