/** Something one era has and the other has no form for. */
export interface Unbridged {
  readonly feature: string
  readonly eras: string
  readonly instead: string
  readonly why: string
}

/** All of it; the matrix asks for nothing of this. */
export const UNBRIDGED: readonly Unbridged[] = [
  {
    feature: 'A server request outside a call',
    eras: 'legacy server → modern client',
    instead: 'it goes to the client of the open calls, if there is only one; otherwise the server gets an error',
    why: 'modern clients accept requests only in answers to their own',
  },
  {
    feature: 'Log messages outside requests',
    eras: 'legacy server → modern client',
    instead: 'dropped',
    why: 'modern clients get logs only on the stream of a request with a level',
  },
  {
    feature: '`notifications/elicitation/complete`',
    eras: 'legacy server → modern client',
    instead: 'the client retries',
    why: 'not in 2026-07-28',
  },
  {
    feature: '`notifications/roots/list_changed`',
    eras: 'modern client → legacy server',
    instead: 'the server can request the roots in each call',
    why: 'modern clients do not send it',
  },
  {
    feature: 'Resuming a broken stream',
    eras: 'legacy server → modern client',
    instead: 'the client repeats the request with a new id',
    why: 'modern streams have no event ids',
  },
  {
    feature: 'Tasks that the client hosts',
    eras: 'both',
    instead: 'not announced to servers, whose `tasks/*` are refused with -32601',
    why: 'the tasks extension of 2026-07-28 has none',
  },
  {
    feature: '`tasks/list` of the server',
    eras: 'both',
    instead: 'a legacy client lists the tasks that it got from the gateway; a modern one gets -32601',
    why: 'servers do not know the owners of tasks, and the extension of 2026-07-28 has no list',
  },
  {
    feature: 'Progress and logs of a task after its first answer',
    eras: 'both',
    instead: 'progress with a message becomes the `statusMessage` of a hosted task; the rest is dropped',
    why: 'the tasks extension of 2026-07-28 has neither',
  },
  {
    feature: 'Server state per conversation',
    eras: 'modern client → legacy server',
    instead: 'conversations of one principal share a session, unless the upstream is configured otherwise',
    why: 'modern requests have no session, except a label such as X-Session-ID',
  },
  {
    feature: '`ping` to the server',
    eras: 'modern client → legacy server',
    instead: 'refused with -32601',
    why: 'not in 2026-07-28',
  },
  {
    feature: 'Modern era over HTTP+SSE',
    eras: 'modern client → HTTP+SSE listener',
    instead: 'modern clients use Streamable HTTP, stdio or WebSocket',
    why: 'HTTP+SSE is of 2024-11-05 and has no modern form',
  },
]
