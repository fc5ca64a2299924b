# SPDX-License-Identifier: Apache-2.0
"""Gates CI: options, files and exit code of verbs that judge thresholds, and the verb that only judges."""
