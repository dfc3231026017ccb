import type { Plugin } from '../../src/plugin.ts'
import { check } from './check.ts'
import { ERRORS } from './errors.ts'
import type { ShapeConfig } from './rules.ts'

/** Brings results into a form that fits a model, and keeps the whole of what it cuts. */
export const shape: Plugin<ShapeConfig | undefined> = {
  name: 'shape',
  claims: { section: 'shape', upstream: ['shape'], profile: ['shape'], adds: { upstreams: ['results'] } },
  check,
  errors: ERRORS,
  async setup(api) {
    const { setUp } = await import('./setup.ts')
    setUp(api)
  },
}
