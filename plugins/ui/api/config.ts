import { isObject } from '../../../src/plugin.ts'
import type { ConfigValue, ConfigValues } from '../types.ts'
import type { ApiHost } from './host.ts'
import { ANY, ApiError, MOST_ROWS, type Question, type Route, ROWS } from './route.ts'

/** Routes over the configuration. None of them writes it. */
export function configRoutes(host: ApiHost): Route[] {
  const { control } = host
  const alone = oneAtATime()
  return [
    {
      method: 'GET',
      name: 'config',
      summary: 'The effective configuration with the place that each value comes from, without secrets.',
      query: {
        search: 'Part of a key or of a value.',
        defaults: 'yes for values that nobody has set, too.',
        offset: 'Leaves out so many.',
        limit: `At most so many, up to ${MOST_ROWS}.`,
      },
      answer: 'The file, values by their places, and how many fit',
      run: async question => pageOf(await host.describedConfig(), question),
    },
    {
      method: 'POST',
      name: 'reload',
      summary: 'Has the gateway read its configuration again.',
      acts: true,
      answer: 'What became another one',
      run: () => control('reload'),
    },
    {
      method: 'POST',
      name: 'plan',
      summary:
        'Says what would change with another configuration, as "gateway plan" does. Nothing is changed, no file is written, and nothing of the text is run.',
      acts: true,
      isForOwner: true,
      body: { yaml: { type: 'string', description: 'All of another gateway.yaml.' } },
      required: ['yaml'],
      answer: 'Servers, tools, settings and verdicts that would be others; or the problems of the text',
      run: ({ body }) => alone(() => control('plan', { yaml: body.yaml })),
    },
  ]
}

/** A plan builds a whole gateway, so that there is one at a time. */
function oneAtATime(): (run: () => Promise<unknown>) => Promise<unknown> {
  let isBusy = false
  return async run => {
    if (isBusy) throw new ApiError(429, 'another plan is being made')
    isBusy = true
    try {
      return await run()
    } finally {
      isBusy = false
    }
  }
}

function pageOf({ file, origins }: Readonly<Record<string, unknown>>, question: Question): ConfigValues {
  const { text, count } = question
  const search = (text('search') ?? '').toLowerCase()
  const withDefaults = text('defaults') === 'yes'
  const found = valuesIn(origins).filter(({ pointer, value, origin }) => {
    if (!withDefaults && origin === 'default') return false
    return search === '' || `${pointer} ${JSON.stringify(value)}`.toLowerCase().includes(search)
  })
  const offset = count('offset', ANY)
  return {
    ...(typeof file === 'string' ? { file } : {}),
    values: found.slice(offset, offset + count('limit', ROWS)),
    total: found.length,
  }
}

function valuesIn(origins: unknown): ConfigValue[] {
  return Array.isArray(origins) ? (origins.filter(isObject) as unknown as ConfigValue[]) : []
}
