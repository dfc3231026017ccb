import { agentRoutes } from './agents.ts'
import type { ApiHost } from './host.ts'
import type { Route } from './route.ts'
import type { Part } from '../types.ts'

const MOST_ENTRIES = 500

/** Routes over what other plugins do, as far as they are there. */
export function actingRoutes(host: ApiHost): Route[] {
  const { parts } = host
  const byPart: Readonly<Partial<Record<Part, () => Route[]>>> = {
    approvals: () => approvalRoutes(host),
    cache: () => cacheRoutes(host),
    logins: () => loginRoutes(host),
    agents: () => agentRoutes(host),
  }
  return parts.flatMap(part => byPart[part]?.() ?? [])
}

function approvalRoutes({ control }: ApiHost): Route[] {
  return [
    {
      method: 'GET',
      name: 'approvals',
      summary: 'Calls that wait for a person.',
      answer: 'Calls with what they are about to do',
      run: () => control('approvals.list'),
    },
    {
      method: 'POST',
      name: 'approval',
      summary: 'Lets a call that waits run, once, or refuses it.',
      acts: true,
      body: { id: { type: 'string' }, decision: { type: 'string', enum: ['approve', 'deny'] } },
      required: ['id', 'decision'],
      answer: '`decided` is 1 where the call still waited',
      run: ({ body }) => control(`approvals.${String(body.decision)}`, { id: body.id }),
    },
  ]
}

function loginRoutes({ control }: ApiHost): Route[] {
  return [
    {
      method: 'GET',
      name: 'logins',
      summary: 'Logins to servers that are kept, and those that are missing.',
      answer: 'Logins without their tokens',
      run: () => control('login.list'),
    },
    {
      method: 'POST',
      name: 'forget-login',
      summary: 'Ends a login to a server, and tells its authorization server.',
      acts: true,
      body: {
        upstream: { type: 'string', description: 'Name of the server.' },
        account: { type: 'string', description: '`account` of the login.' },
      },
      required: ['upstream', 'account'],
      answer: 'How many were removed, and whether the authorization server knows',
      run: ({ body }) => control('login.logout', body),
    },
  ]
}

function cacheRoutes({ control }: ApiHost): Route[] {
  return [
    {
      method: 'GET',
      name: 'cache',
      summary: 'Entries of the cache.',
      query: { server: 'Only of this server.', name: 'Only of this tool or URI; * stands for anything.' },
      answer: 'Entries, without arguments and callers',
      run: ({ text }) =>
        control('cache.ls', { upstream: text('server'), name: text('name'), limit: MOST_ENTRIES }),
    },
    {
      method: 'POST',
      name: 'purge',
      summary: 'Forgets entries of the cache.',
      acts: true,
      body: { upstream: { type: 'string' }, name: { type: 'string' }, all: { type: 'boolean' } },
      answer: 'How many entries are gone',
      run: ({ body }) => control('cache.purge', body),
    },
  ]
}
