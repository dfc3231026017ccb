import { errorsOf, RPC } from '../../src/plugin.ts'

/** Errors of results that are brought into form. */
export const ERRORS = {
  GW_SHAPE_PICK: {
    text: 'what shall be picked of the result is no JMESPath expression: {why}',
    hint: 'Such as `items[].{title: title, url: url}`; see https://jmespath.org. Nothing was called.',
    http: 400,
    rpc: RPC.invalidParams,
  },
} as const

export const shapeError = errorsOf(ERRORS)
