import { Ajv } from 'ajv'
import standalone from 'ajv/dist/standalone/index.js'

const HEADER = '// @ts-nocheck\n// Generated from schemas/gateway.json by `npm run gen`. Do not edit.\n'

/** A validator that needs neither ajv nor a compiler at run time. */
export function validator(schema) {
  const ajv = new Ajv({
    allErrors: true,
    verbose: true,
    useDefaults: true,
    discriminator: true,
    strict: true,
    allowUnionTypes: true,
    strictRequired: false,
    // Lengths in UTF-16 units need no helper; the option is deprecated, hence the silence.
    unicode: false,
    logger: false,
    code: { source: true, esm: true, lines: true },
  })
  ajv.addVocabulary(['x-secret', 'x-says'])
  const code = standalone.default(ajv, ajv.compile(schema))
  if (/\brequire\(|\bimport\b/.test(code))
    throw new Error('the validator needs a helper of ajv at run time; inline it')
  return `${HEADER}${code.replace('"use strict";', '')}\n`
}
