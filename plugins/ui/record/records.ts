import type { JsonObject, PluginHooks } from '../../../src/plugin.ts'
import type { CallDetail, Calls, ClientRow, Figures } from '../types.ts'
import type { Wanted } from './call-log.ts'
import type { Clients } from './clients.ts'
import type { Ledger } from './ledger.ts'

const CALLS = 'ui.calls'
const CALL = 'ui.call'
const FIGURES = 'ui.figures'
const CLIENTS = 'ui.clients'

const ROWS = 100
const MOST_ROWS = 500

/** All that was recorded for the page. */
export interface Records {
  calls(wanted: Wanted): Calls
  call(id: number): CallDetail | undefined
  figures(): Figures[]
  clients(): ClientRow[]
}

export function ownRecords(ledger: Ledger, clients: Clients): Records {
  return {
    calls: wanted => ledger.calls.find(wanted),
    call: id => ledger.calls.get(id),
    figures: () => ledger.figures.read(Date.now()),
    clients: () => clients.list(),
  }
}

/** Answers the verbs that show what was recorded. */
export function answerVerbs({ control }: PluginHooks, ledger: Ledger, clients: Clients): void {
  control.for(CALLS).tap({ looks: true }, params => ({ ...ledger.calls.find(wantedIn(params)) }))
  control.for(CALL).tap({ looks: true }, ({ id }) => {
    const call = ledger.calls.get(Number(id))
    return call === undefined ? {} : { call }
  })
  control.for(FIGURES).tap({ looks: true }, () => ({ figures: ledger.figures.read(Date.now()) }))
  control.for(CLIENTS).tap({ looks: true }, () => ({ clients: clients.list() }))
}

function wantedIn({ tool, caller, server, outcome, before, after, limit }: JsonObject): Wanted {
  const [tools, callers, servers, outcomes] = [tool, caller, server, outcome].map(textIn)
  return {
    ...{ tool: tools, caller: callers, server: servers, outcome: outcomes },
    before: numberIn(before),
    after: numberIn(after),
    limit: Math.min(Math.max(numberIn(limit) ?? ROWS, 1), MOST_ROWS),
  }
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : undefined
}
