import { defineFindings, refuse, RPC, type Plugin } from 'tapgate/plugin'

// #region ready
/** Stops the start if a required file is missing. */
export const needsFile: Plugin<{ read(): Promise<string> }> = {
  name: 'needs-file',
  setup({ options, hooks, log }) {
    hooks.ready.tap(async () => {
      const text = await options.read() // a rejection stops the start
      log.info('file read', { characters: text.length })
    })
  },
}
// #endregion ready

// #region stopping
/** Logs the time that open calls have left at a stop. */
export const farewell: Plugin = {
  name: 'farewell',
  setup({ hooks, log }) {
    hooks.stopping.tap(graceMs => log.info('stopping', { graceMs }))
  },
}
// #endregion stopping

// #region close
/** Clears its timer. */
export const heartbeat: Plugin<{ beat(): void }> = {
  name: 'heartbeat',
  setup({ options, hooks }) {
    const timer = setInterval(() => options.beat(), 1000)
    timer.unref()
    hooks.close.tap(() => clearInterval(timer))
  },
}
// #endregion close

// #region sessionEnd
/** Warns about connections to servers that were lost. */
export const losses: Plugin = {
  name: 'losses',
  setup({ hooks, log }) {
    hooks.sessionEnd.tap(({ peer, name, reason, error }) => {
      if (peer === 'server' && error !== undefined) log.warn('connection lost', { upstream: name, reason })
    })
  },
}
// #endregion sessionEnd

// #region upstreamState
/** Logs an alarm when a server fails. */
export const alarm: Plugin = {
  name: 'alarm',
  setup({ hooks, log }) {
    hooks.upstreamState.tap((upstream, state, problem) => {
      if (state === 'failed') log.error('ALARM', { upstream, problem })
    })
  },
}
// #endregion upstreamState

// #region status
/** Adds the owner of a server to `gateway ps --json` and `gateway inspect`. */
export const owners: Plugin<Record<string, string>> = {
  name: 'owners',
  setup({ options, hooks }) {
    hooks.status.tap(status => ({ ...status, owner: options[status.name] ?? 'unknown' }))
  },
}
// #endregion status

// #region health
const FINDINGS = {
  'budget-spent': { level: 'warning', text: '{spent} of {limit} daily calls used', fix: 'Wait until tomorrow' },
} as const
const found = defineFindings(FINDINGS)

/** Adds a finding when the daily calls are used up. */
export const callBudget: Plugin<{ limit: number }> = {
  name: 'call-budget',
  health: FINDINGS,
  setup({ options: { limit }, hooks }) {
    let spent = 0
    hooks.settled.tap({ methods: ['tools/call'] }, () => void spent++)
    hooks.health.tap(findings => (spent < limit ? undefined : [...findings, found('budget-spent', { spent, limit })]))
  },
}
// #endregion health

// #region metrics
/** Counts tool calls, for `/metrics`. */
export const toolCalls: Plugin = {
  name: 'tool-calls',
  setup({ hooks }) {
    let value = 0
    hooks.settled.tap({ methods: ['tools/call'] }, () => void value++)
    const figure = { name: 'tapgate_tool_calls', type: 'counter', help: 'Calls of tools.' } as const
    hooks.metrics.tap(figures => [...figures, { ...figure, samples: [{ suffix: '_total', value }] }])
  },
}
// #endregion metrics

// #region control
/** Adds the control verb `greeting.say`. */
export const greeting: Plugin = {
  name: 'greeting',
  setup({ hooks }) {
    hooks.control.for('greeting.say').tap(({ name = 'world' }) => ({ text: `hello ${String(name)}` }))
  },
}
// #endregion control

// #region auditEvent
/** Records audit events other than calls: client requests, permissions, control commands. */
export const journal: Plugin<{ write(line: string): void }> = {
  name: 'journal',
  setup({ options, hooks }) {
    hooks.auditEvent.tap(({ kind, name, outcome }) => options.write(`${kind} ${name}: ${outcome}`))
  },
}
// #endregion auditEvent

// #region explain
/** Disables a tool, and adds that to `gateway explain`. */
export const switchedOff: Plugin<{ tool: string }> = {
  name: 'switched-off',
  setup({ options, hooks }) {
    hooks.request.tap({ methods: ['tools/call'] }, ({ params }) =>
      params?.name === options.tool ? refuse(RPC.invalidParams, 'switched off') : undefined,
    )
    hooks.explain.tap((steps, { exchange }) => {
      if (exchange.params?.name !== options.tool) return undefined
      return [...steps, { by: 'switched-off', at: 'request', does: 'refuses', text: 'the tool is switched off' }]
    })
  },
}
// #endregion explain

// #region findCaller
/** Resolves callers for `gateway explain search --as person:ann`. */
export const people: Plugin<{ names: string[] }> = {
  name: 'people',
  setup({ options, hooks }) {
    const findCaller = (name: string) => {
      const subject = options.names.find(one => name === `person:${one}`)
      return subject === undefined ? undefined : { issuer: 'people', client: '', subject, scopes: [] }
    }
    hooks.services.tap(services => ({ ...services, findCaller }))
  },
}
// #endregion findCaller
