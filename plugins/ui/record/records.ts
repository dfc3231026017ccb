import { isObject, type JsonObject, type PluginApi, type PluginHooks } from '../../../src/plugin.ts'
import type { CallDetail, Calls, ClientRow, Figures } from '../types.ts'
import type { Wanted } from './call-log.ts'
import { type Clients, together } from './clients.ts'
import type { Ledger } from './ledger.ts'

const CALLS = 'ui.calls'
const CALL = 'ui.call'
const FIGURES = 'ui.figures'
const CLIENTS = 'ui.clients'

const ROWS = 100
const MOST_ROWS = 500

/** All that was recorded for the page, wherever it is kept. */
export interface Records {
  calls(wanted: Wanted): Calls | Promise<Calls>
  call(id: number): CallDetail | undefined | Promise<CallDetail | undefined>
  figures(): Figures[] | Promise<Figures[]>
  clients(): ClientRow[] | Promise<ClientRow[]>
}

/** The records of a gateway of one process. */
export function ownRecords(ledger: Ledger, clients: Clients): Records {
  return {
    calls: wanted => ledger.calls.find(wanted),
    call: id => ledger.calls.get(id),
    figures: () => ledger.figures.read(Date.now()),
    clients: () => clients.list(),
  }
}

/** The records of a gateway of several processes, which are asked for them. */
export function recordsOfAll(control: PluginApi['control']): Records {
  return {
    calls: async wanted => (await control(CALLS, { ...wanted })) as unknown as Calls,
    call: async id => {
      const { call } = await control(CALL, { id })
      return isObject(call) ? (call as unknown as CallDetail) : undefined
    },
    figures: async () => (await control(FIGURES)).figures as Figures[],
    clients: async () => together((await control(CLIENTS)).clients as ClientRow[]),
  }
}

/** Answers what is asked of the process that keeps the calls of all. */
export function answerForCalls({ control }: PluginHooks, ledger: Ledger): void {
  control.for(CALLS).tap({ looks: true }, params => ({ ...ledger.calls.find(wantedIn(params)) }))
  control.for(CALL).tap({ looks: true }, ({ id }) => {
    const call = ledger.calls.get(Number(id))
    return call === undefined ? {} : { call }
  })
  control.for(FIGURES).tap({ looks: true }, () => ({ figures: ledger.figures.read(Date.now()) }))
}

/** Answers what is asked of each process that has clients. */
export function answerForClients({ control }: PluginHooks, clients: Clients): void {
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
