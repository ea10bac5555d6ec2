// One run of one job: its lease, what it has heard, and what a handler may do.

import { Refused } from "./bus.mjs";

// Thrown to leave a handler: with an ending to tell, or without one when the run is no longer the job's.
export class End extends Error {
  constructor(ending) {
    super(ending ? ending.kind : "stale");
    this.ending = ending;
  }
}

const PROGRESS_MS = 250;

export class Run {
  constructor(bus, given, leaseSeconds) {
    this.bus = bus;
    this.id = given.job.id;
    this.lease = given.lease;
    this.job = given.job;
    this.given = given;
    this.leaseSeconds = leaseSeconds;
    this.data = given.job.data;
    this.cancel = null;
    this.held = true;
    this.heardAt = Date.now();
    this.progressAt = 0;
    this.unwritten = null;
  }

  hear(cancel) {
    this.heardAt = Date.now();
    if (cancel) this.cancel = cancel;
  }

  get cutOff() {
    return Date.now() - this.heardAt > (this.leaseSeconds * 1000 * 2) / 3;
  }

  check() {
    if (!this.held) throw new End(null);
    const reason = this.cancel ?? (this.cutOff ? "shutdown" : null);
    if (reason === "shutdown") throw new End({ kind: "interrupted", reason });
    if (reason) throw new End({ kind: "cancelled" });
  }

  async write(method, body) {
    if (!this.held) throw new End(null);
    try {
      const answer = await this.bus.call(method, { id: this.id, lease: this.lease, ...body }, () => this.cutOff);
      this.hear(answer.cancel);
      return answer;
    } catch (error) {
      if (error instanceof Refused && error.code === "LEASE_LOST") {
        this.held = false;
        throw new End(null);
      }
      this.check();
      throw error;
    }
  }

  async progress(done, total, label) {
    const body = total === null ? { done, label } : { done, total, label };
    this.unwritten = body;
    if (Date.now() - this.progressAt >= PROGRESS_MS) await this.flush();
  }

  async flush() {
    const body = this.unwritten;
    if (!body) return;
    this.progressAt = Date.now();
    await this.write("jobs.update_progress", body);
    if (this.unwritten === body) this.unwritten = null;
  }

  checkpoint(cursor) {
    return this.write("jobs.checkpoint", { cursor });
  }

  async merge(data) {
    this.data = (await this.write("jobs.merge_data", { data })).data;
    return this.data;
  }

  async spawn(children, ignore) {
    return (await this.write("jobs.batch_children", { children, ignore_failures: ignore })).ids;
  }

  async tell(ending) {
    if (!ending || !this.held) return;
    try {
      await this.flush();
      await this.bus.call("jobs.update_status", { id: this.id, lease: this.lease, ending });
    } catch (error) {
      const lost = error instanceof End || (error instanceof Refused && error.code === "LEASE_LOST");
      if (!lost) throw error;
    }
  }
}
