import type { ApiHost } from './host.ts'
import { ANY, ApiError, EVENTS, missing, MOST_ROWS, Reply, type Route, ROWS } from './route.ts'
import { toolRoutes } from './tools.ts'

/** Routes that show calls, tools and clients. */
export function lookingRoutes(host: ApiHost): Route[] {
  return [...callRoutes(host), ...toolRoutes(host), clientsRoute(host)]
}

function callRoutes({ records, streams }: ApiHost): Route[] {
  return [
    {
      method: 'GET',
      name: 'calls',
      summary: 'The calls of late, the newest first.',
      query: {
        tool: 'Part of the name of the tool; * stands for anything.',
        caller: 'Part of the subject of the caller.',
        server: 'Name of the server.',
        outcome:
          'ok, is_error, error, refused, cancelled, input_required, task, or failed for all that are not well.',
        before: 'Only calls before the one of this id.',
        after: 'Only calls after the one of this id, such as `newest` of the answer before.',
        limit: `At most so many, up to ${MOST_ROWS}.`,
      },
      answer: 'Calls, the id of the newest that is kept, and the id for the next page',
      run({ text, count }) {
        const before = text('before') === undefined ? undefined : count('before', ANY)
        const after = count('after', ANY)
        const [tool, caller, server, outcome] = [
          text('tool'),
          text('caller'),
          text('server'),
          text('outcome'),
        ]
        return records.calls({ tool, caller, server, outcome, before, after, limit: count('limit', ROWS) })
      },
    },
    {
      method: 'GET',
      name: 'call',
      summary:
        'One call, with its way through the gateway and what was kept of its arguments and its result.',
      query: { id: 'Id of the call.' },
      answer: 'The call',
      run: ({ count }) => records.call(count('id', ANY)) ?? missing('this call is no longer kept'),
    },
    {
      method: 'GET',
      name: 'events',
      summary:
        'What happens, as it happens: calls, states of servers, changes. Many calls are one event, one a second at most, with their `count` and the last of them; `calls` with `after` has the others.',
      answer: 'A stream of events, each a JSON object',
      run({ reader, http }) {
        const stream = streams.open(reader)
        if (stream === undefined) throw new ApiError(429, 'too many pages are open')
        http.onGone(() => stream.end())
        return new Reply({ status: 200, headers: EVENTS, body: stream })
      },
    },
  ]
}

function clientsRoute({ records }: ApiHost): Route {
  return {
    method: 'GET',
    name: 'clients',
    summary: 'Clients that are here or have been, the latest first.',
    query: { limit: `At most so many, up to ${MOST_ROWS}.` },
    answer: 'Clients, and how many there are',
    run({ count }) {
      const all = records.clients()
      return { clients: all.slice(0, count('limit', ROWS)), total: all.length }
    },
  }
}
