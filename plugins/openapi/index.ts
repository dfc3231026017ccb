import { mapAt, type Plugin } from '../../src/plugin.ts'
import { check } from './check.ts'
import { ERRORS } from './errors.ts'
import { isOpenApi } from './spec.ts'

/** Upstreams of type `openapi`: HTTP APIs, whose operations are tools. */
export const openApi: Plugin<undefined> = {
  name: 'openapi',
  claims: { upstream: ['document'], makesUpstreams: true },
  errors: ERRORS,
  check,
  reads: config =>
    Object.values(mapAt(config, 'upstreams'))
      .map(spec => spec as { type?: unknown; document?: unknown })
      .filter(({ type, document }) => type === 'openapi' && typeof document === 'string')
      .map(({ document }) => String(document))
      .filter(document => !/^https?:\/\//i.test(document)),
  async setup({ config, hooks, fetch, parseYaml, directory }) {
    if (!Object.values(config.upstreams).some(isOpenApi)) return
    const { OpenApiUpstream } = await import('./upstream.ts')
    const reading = { fetch, parseYaml, directory }
    hooks.createUpstream.for('openapi').tap((spec, context) => {
      return isOpenApi(spec) ? new OpenApiUpstream(spec, context, reading) : undefined
    })
  },
}
