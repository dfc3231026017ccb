import { answer, Payload, refuse, RPC, type Plugin } from 'tapgate/plugin'

// #region request
/** Disables a tool. */
export const noDrops: Plugin = {
  name: 'no-drops',
  setup({ hooks }) {
    hooks.request.tap({ methods: ['tools/call'] }, exchange =>
      exchange.params?.name === 'web__drop' ? refuse(RPC.invalidParams, 'drop is switched off') : undefined,
    )
  },
}
// #endregion request

// #region route
/** Routes one tool to another server. */
export const toCanary: Plugin = {
  name: 'to-canary',
  setup({ hooks }) {
    hooks.route.tap({ methods: ['tools/call'] }, ({ params }) => {
      if (params?.name !== 'web__search') return undefined
      return { to: 'one', upstream: 'canary', params: { ...params, name: 'search' } }
    })
  },
}
// #endregion route

// #region call
/** Sends the caller to HTTP servers in a header. */
export const namesCaller: Plugin = {
  name: 'names-caller',
  setup({ hooks }) {
    hooks.call.tap(({ headers, exchange }) => {
      headers['x-caller'] = exchange.principal.subject
    })
  },
}
// #endregion call

// #region response
/** Adds a note to tool results. */
export const footnote: Plugin = {
  name: 'footnote',
  setup({ hooks }) {
    hooks.response.tap({ methods: ['tools/call'], stage: 'transform' }, reply => {
      if (!('result' in reply)) return undefined // keep errors
      const { content = [], ...rest } = reply.result.value() as { content?: object[] }
      const note = { type: 'text', text: 'checked' }
      return { result: Payload.of({ ...rest, content: [...content, note] }, reply.result.era) }
    })
  },
}
// #endregion response

// #region settled
/** Logs every request with its outcome. */
export const accessLog: Plugin = {
  name: 'access-log',
  setup({ hooks, log, clock }) {
    hooks.settled.tap(({ method, answer, cancelled, startedAt }) => {
      const outcome = cancelled ? 'cancelled' : answer !== undefined && 'error' in answer ? 'error' : 'fine'
      log.info('request', { method, outcome, ms: Math.round(clock.now() - startedAt) })
    })
  },
}
// #endregion settled

// #region catalog
/** Shows only read-only tools. */
export const readOnly: Plugin = {
  name: 'read-only',
  setup({ hooks }) {
    hooks.catalog.tap((entries, { kind }) => {
      if (kind !== 'tools') return undefined
      return entries.filter(({ value }) => (value.annotations as { readOnlyHint?: boolean } | undefined)?.readOnlyHint)
    })
  },
}
// #endregion catalog

// #region withhold
/** Refuses tools of a server under review, and marks all others. */
export const underReview: Plugin<{ server: string }> = {
  name: 'under-review',
  setup({ options, hooks }) {
    const refusal = { code: RPC.invalidParams, message: 'this tool is under review' }
    hooks.catalog.tap(entries =>
      entries.map(entry =>
        entry.upstream === options.server
          ? { ...entry, refusal }
          : { ...entry, marks: { ...entry.marks, review: 'done' } },
      ),
    )
  },
}
// #endregion withhold

// #region instructions
/** Drops instructions that mention other tools. */
export const plainInstructions: Plugin = {
  name: 'plain-instructions',
  setup({ hooks }) {
    hooks.instructions.tap(instructions => instructions.filter(({ text }) => !text.includes('other tools')))
  },
}
// #endregion instructions

// #region notification
/** Drops log messages for clients. */
export const quiet: Plugin = {
  name: 'quiet',
  setup({ hooks }) {
    hooks.notification.tap({ methods: ['notifications/message'] }, (_, { direction }) =>
      direction === 'client' ? 'drop' : undefined,
    )
  },
}
// #endregion notification

// #region clientRequest
/** Answers `roots/list` without asking the client. */
export const fixedRoots: Plugin = {
  name: 'fixed-roots',
  setup({ hooks }) {
    hooks.clientRequest.tap({ methods: ['roots/list'] }, () => answer({ roots: [{ uri: 'file:///srv/project' }] }))
  },
}
// #endregion clientRequest
