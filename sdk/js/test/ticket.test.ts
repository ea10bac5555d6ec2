import { afterEach, describe, expect, it, vi } from "vitest";
import { LiveClient, sessionTicket } from "../src";

afterEach(() => {
  document.cookie = "csrftoken=; max-age=0";
});

describe("a ticket for whoever is signed in", () => {
  it("is asked for with the CSRF cookie", async () => {
    document.cookie = "csrftoken=abc";
    const fetched = vi.fn(async (..._: unknown[]) => Response.json({ ticket: "t1", expires_in: 30 }));
    vi.stubGlobal("fetch", fetched);
    expect(await sessionTicket({ topics: ["jobs"] })).toBe("t1");
    const [url, options] = fetched.mock.calls[0] as [string, RequestInit];
    expect(url).toBe("/live/ticket");
    expect(options.headers).toMatchObject({ "X-CSRFToken": "abc" });
    expect(options.body).toBe('{"topics":["jobs"]}');
  });

  it("may not be had", async () => {
    vi.stubGlobal("fetch", async () => Response.json({}, { status: 401 }));
    await expect(sessionTicket()).rejects.toThrow("the server answered 401");
  });
});

describe("options", () => {
  it("with an address that is none are refused at once", () => {
    expect(() => new LiveClient({ url: "ftp://jobs.example" })).toThrow(/http/);
  });
});
