# SPDX-License-Identifier: Apache-2.0
"""Makes safe what others wrote in a plan, a run's folder or a gateway's output: texts to show, values to calculate."""
