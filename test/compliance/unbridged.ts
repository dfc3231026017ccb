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
    feature: 'A request of the server that belongs to no call',
    eras: 'legacy server → modern client',
    instead: 'it goes to the client of the open calls, if there is only one; otherwise the server gets an error',
    why: 'a modern client can only be asked in the answer to a request of its own',
  },
  {
    feature: 'Logs that belong to no request',
    eras: 'legacy server → modern client',
    instead: 'they are dropped',
    why: 'a modern client gets logs only on the stream of a request that gave a level',
  },
  {
    feature: '`notifications/elicitation/complete`',
    eras: 'legacy server → modern client',
    instead: 'the client finds out by asking again',
    why: 'the notification left the protocol with 2026-07-28',
  },
  {
    feature: '`notifications/roots/list_changed`',
    eras: 'modern client → legacy server',
    instead: 'the server sees the roots of each call that asks for them',
    why: 'modern clients do not send it',
  },
  {
    feature: 'Resuming a broken stream',
    eras: 'legacy server → modern client',
    instead: 'the client asks anew with a new id',
    why: 'modern streams have no event ids',
  },
  {
    feature: 'Tasks that the client hosts',
    eras: 'both',
    instead: 'a server is told of none, and its `tasks/*` are refused with -32601',
    why: 'the tasks extension of 2026-07-28 has none',
  },
  {
    feature: '`tasks/list` of the server',
    eras: 'both',
    instead: 'a legacy client lists the tasks that the gateway told it of; a modern one gets -32601',
    why: 'a server does not know whose its tasks are, and the extension of 2026-07-28 has no list',
  },
  {
    feature: 'Progress and logs of a task after its first answer',
    eras: 'both',
    instead:
      'progress with a message becomes the `statusMessage` of a task that the gateway keeps; the rest is dropped',
    why: 'the tasks extension of 2026-07-28 has neither',
  },
  {
    feature: 'State of one conversation inside a legacy server',
    eras: 'modern client → legacy server',
    instead: 'conversations of one principal share a session, unless the upstream is configured otherwise',
    why: 'modern requests name no conversation, but for a label such as X-Session-ID',
  },
  {
    feature: '`ping` to the server',
    eras: 'modern client → legacy server',
    instead: 'refused with -32601',
    why: 'it left the protocol with 2026-07-28',
  },
  {
    feature: 'Modern era over HTTP+SSE',
    eras: 'modern client → HTTP+SSE listener',
    instead: 'modern clients use Streamable HTTP, stdio or WebSocket',
    why: 'HTTP+SSE is of 2024-11-05 and has no modern form',
  },
]
