import { explain } from './messages.ts'
import type { SchemaError } from './messages.ts'
import type { Finding } from './problem.ts'
import * as generated from './validate.gen.ts'

interface Validator {
  (value: unknown): boolean
  errors?: readonly SchemaError[] | null
}

/** Checks plain data against the schema and fills in defaults, in place. */
export function validate(value: unknown): Finding[] {
  const check = generated.validate as unknown as Validator
  if (check(value)) return []
  const errors = check.errors ?? []
  const wrongType = new Set(errors.filter(error => error.keyword === 'type').map(error => error.instancePath))
  return errors.flatMap(error => {
    if (error.keyword !== 'type' && wrongType.has(error.instancePath)) return []
    return explain(error) ?? []
  })
}
